package card

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuiltInCards reads all of them.
func TestBuiltInCards(t *testing.T) {
	if len(Names()) < 6 {
		t.Fatalf("built in are %v", Names())
	}
	for _, n := range Names() {
		c, err := Find(n)
		if err != nil {
			t.Error(err)
			continue
		}
		if c.Name != n || c.Model == "" || c.Licence == "" || c.About == "" || c.Digest == "" {
			t.Errorf("card %s says %+v", n, c)
		}
	}
}

const good = "card: 1\nname: m\ninputs: [{tensor: x, column: a, raw: true}]\noutputs: [{column: y, tensor: y, values: {}}]\n"

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{"name: m", "it does not say which version of the schema it is: begin it with card: 1"},
		{"card: 2\nname: m", "it is version 2 of the schema, this program reads 1"},
		{good + "colour: red\n", "line 5: field colour not found"},
		{good + "---\ncard: 1\n", "it has more than one document"},
		{"card: 1\nname: m\n", "it needs inputs and outputs"},
		{strings.Replace(good, "raw: true", "", 1), "input 1: it has 0 of image, text, bytes, audio, constant and raw"},
		{strings.Replace(good, "values: {}", "values: {}, label: {labels: {list: [a]}}", 1), "output 1: it has 2 of label"},
		{strings.Replace(good, "values: {}", "label: {}", 1), "output 1: it needs labels"},
		{strings.Replace(good, "values: {}", "label: {labels: {file: a, meta: b}}", 1), "output 1: labels have 2 of file, meta and list"},
		{strings.Replace(good, "values: {}", "score: {apply: tanh}", 1), `output 1: apply "tanh" is neither softmax nor sigmoid`},
		{strings.Replace(good, "values: {}", "values: {type: FP32}", 1), "output 1: values need both type and shape, or neither"},
		{strings.Replace(good, "raw: true", "image: {layout: chwn}", 1), `input 1: layout "chwn" is neither nchw nor nhwc`},
		{strings.Replace(good, "raw: true", "bytes: {head: 8, least: -1}", 1), "input 1: head 8, tail 0, block 0 and least -1 must be sizes"},
		{good + "default: [z]\n", `there is no output "z", which default or embedding names`},
		{strings.Repeat("#", 1<<20+1), "it has 1048577 bytes, above the limit of 1048576"},
	} {
		if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q: error is %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := Parse([]byte(`{"card": 1, "name": "m", "inputs": [{"tensor": "x", "column": "a", "raw": true}], "outputs": [{"column": "y", "tensor": "y", "values": {}}]}`)); err != nil {
		t.Errorf("JSON: %v", err)
	}
}

// TestFiles are looked for beside the card and in the folder of models.
func TestFiles(t *testing.T) {
	dir, models := t.TempDir(), t.TempDir()
	t.Setenv(ModelsEnv, models)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "m.card.yaml"), good)
	write(filepath.Join(dir, "names.txt"), "a\r\nb\n")
	write(filepath.Join(models, "other.txt"), "c\nd")
	write(filepath.Join(models, "mine.yaml"), strings.Replace(good, "name: m", "name: mine", 1))
	c, err := Beside(filepath.Join(dir, "m.onnx"))
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	for file, want := range map[string]string{"names.txt": "a b", "other.txt": "c d"} {
		names, err := c.Names(&Labels{File: file}, nil)
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s: %q, %v", file, names, err)
		}
	}
	if _, err := c.Names(&Labels{File: "none.txt"}, nil); err == nil || !strings.Contains(err.Error(), "there is no file none.txt in "+dir+", "+models) {
		t.Errorf("error is %v", err)
	}
	if names, err := c.Names(&Labels{Meta: "k"}, map[string]string{"k": "x\ny"}); err != nil || len(names) != 2 {
		t.Errorf("metadata: %q, %v", names, err)
	}
	if m, err := Find("mine"); err != nil || m.Name != "mine" {
		t.Errorf("a card in the folder of models: %+v, %v", m, err)
	}
	if _, err := Find("minlm"); err == nil || !strings.Contains(err.Error(), `there is no card "minlm" (did you mean "minilm"?)`) {
		t.Errorf("error is %v", err)
	}
	if c, err := Beside(filepath.Join(dir, "other.onnx")); c != nil || err != nil {
		t.Errorf("a model without card has %v, %v", c, err)
	}
}

// FuzzParse: any bytes are a card or an error.
func FuzzParse(f *testing.F) {
	for _, n := range Names() {
		data, err := builtIn.ReadFile("cards/" + n + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Parse(data) })
}
