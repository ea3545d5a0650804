package media

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators"
	"github.com/sluice-data/sluice/operators/isolate"
)

// TestMain is a child where a test starts one.
func TestMain(m *testing.M) {
	isolate.Serve(func() (*dataset.Registry, error) { return nil, errors.New("no steps here") }, map[string]gpu.Opener{PictureScheme: OpenPicture})
	os.Exit(m.Run())
}

// TestRecipes builds programs again from what they say of themselves, as a child process does.
func TestRecipes(t *testing.T) {
	reg := dataset.NewRegistry()
	if err := Register(reg); err != nil {
		t.Fatal(err)
	}
	if err := operators.Register(reg); err != nil {
		t.Fatal(err)
	}
	step := func(name, text string) dataset.Spec {
		def, err := reg.Operator(name)
		if err != nil {
			t.Fatal(err)
		}
		p := def.Zero()
		if err := dataset.ParseArgs(text, p); err != nil {
			t.Fatal(name, text, err)
		}
		s, err := def.New(p)
		if err != nil {
			t.Fatal(name, text, err)
		}
		return s
	}
	for _, steps := range [][][2]string{
		{{"decode", ""}},
		{{"decode", "mode=grey max_pixels=1000 max_bytes=3MiB out=pixels"}},
		{{"decode", ""}, {"where", `width >= 256 and format == "jpeg"`}, {"resize", "224x224 fit=fill"}, {"crop", "100x80"}, {"phash", ""}, {"score", ""}},
		{{"decode", ""}, {"resize", "64x64"}, {"encode", "webp 80"}},
		{{"decode", ""}, {"to-tensor", "32x32 layout=chw mean=0.5,0.5,0.5 std=0.1,0.2,0.3"}},
	} {
		var want dataset.Spec
		for _, st := range steps {
			want = joined(t, want, step(st[0], st[1]))
		}
		recipe := want.(dataset.Isolable).Recipe()
		if len(recipe) != len(steps) {
			t.Fatalf("%s: %d ingredients of %d steps", want.Name(), len(recipe), len(steps))
		}
		var got dataset.Spec
		for _, r := range recipe {
			def, err := reg.Operator(r.Name)
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(r.Params)
			if err != nil {
				t.Fatal(err)
			}
			p := def.Zero()
			if err := json.Unmarshal(data, p); err != nil {
				t.Fatal(r.Name, string(data), err)
			}
			s, err := def.New(p)
			if err != nil {
				t.Fatal(err)
			}
			got = joined(t, got, s)
		}
		if got.Name() != want.Name() || got.Version() != want.Version() || !reflect.DeepEqual(got.Params(), want.Params()) {
			t.Errorf("%s %+v became %s %+v", want.Name(), want.Params(), got.Name(), got.Params())
		}
	}
	for _, name := range []string{"phash", "score"} {
		if r := step(name, "").(dataset.Isolable).Recipe(); r != nil {
			t.Errorf("%s, which decodes nothing, wants to be isolated: %v", name, r)
		}
	}
}

func joined(t *testing.T, a, b dataset.Spec) dataset.Spec {
	t.Helper()
	if a == nil {
		return b
	}
	both, ok := a.(dataset.Composer).Compose(b)
	if !ok {
		t.Fatalf("%s does not take over %s", a.Name(), b.Name())
	}
	return both
}
