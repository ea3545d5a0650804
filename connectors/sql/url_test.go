package sql

import (
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

func TestURLs(t *testing.T) {
	for _, tc := range []struct{ url, shown, table, err string }{
		{"postgres://u@h:5433/db?table=a.b&sslmode=disable", "postgres://h:5433/db", "a.b", ""},
		{"postgresql:///db?table=t", "postgres:///db", "t", ""},
		{"postgres:///?service=shop&table=t", "postgres:///?service=shop", "t", ""},
		{"postgres://u:geheim@h/db?table=t", "", "", "PGPASSWORD"},
		{"postgres://u@h/db?password=geheim", "", "", "PGPASSWORD"},
		{"postgres://u:geh%zzeim@h/db", "", "", "cannot be parsed"},
		{"postgres://u@h/db?table=geheim&table=b", "", "", "twice"},
		{"postgres:db", "", "", "write postgres://"},
		{"sqlite:a b%20.db?table=t", "sqlite:a b%20.db", "t", ""},
		{"sqlite:///tmp/a.db?table=t", "sqlite:/tmp/a.db", "t", ""},
		{"a.db", "sqlite:a.db", "", ""},
		{"sqlite:", "", "", "names no file"},
		{"sqlite::memory:", "", "", "names no file"},
		{"sqlite://a.db", "", "", "absolute path"},
		{"sqlite:a.db?tabel=t", "", "", `did you mean "table"`},
	} {
		parse := parseSQLite
		if strings.HasPrefix(tc.url, "postgres") {
			parse = parsePostgres
		}
		a, err := parse(tc.url)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%s: %v, want %q", tc.url, err, tc.err)
			}
			continue
		}
		if err != nil || a.shown != tc.shown || a.options["table"] != tc.table || strings.Contains(a.conn, "table=") {
			t.Errorf("%s: %+v, %v", tc.url, a, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		url  string
		opt  SinkOptions
		want string
		err  string
	}{
		{"a.db", SinkOptions{Table: "t"}, modeCreate, ""},
		{"a.db", SinkOptions{Table: "t", Key: []string{"a", "b"}}, modeUpsert, ""},
		{"sqlite:a.db?table=t&mode=insert", SinkOptions{}, modeInsert, ""},
		{"sqlite:a.db?table=t", SinkOptions{Table: "u"}, "", "the options table=u"},
		{"a.db", SinkOptions{}, "", "table="},
		{"a.db", SinkOptions{Table: "t", Mode: "upsert"}, "", "key="},
		{"a.db", SinkOptions{Table: "t", Mode: "instert"}, "", `did you mean "insert"`},
		{"a.db", SinkOptions{Table: "_sluice_parts"}, "", "keep the state"},
		{"sqlite:a.db?by=x", SinkOptions{Table: "t"}, "", "no option of a sink"},
	} {
		a, err := parseSQLite(tc.url)
		if err == nil {
			err = tc.opt.complete(a)
		}
		if tc.err == "" && (err != nil || tc.opt.Mode != tc.want) || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %+v, %v", tc.url, tc.opt, err)
		}
	}
	opt := Options{Table: "t", Query: "SELECT 1"}
	if err := opt.fromURL(address{}); err == nil {
		t.Error("table= and query= are taken together")
	}
}

// FuzzURL: whatever is typed is taken or refused, and no password gets through.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"postgres://u@h:5433/db?table=a.b", "postgres://u:PASS@h/db", "postgres://h/db?password=PASS", "sqlite:a.db?table=t&x=1", "sqlite:///%zz?", "postgres://[::1]:x/?service=%00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, parse := range []func(string) (address, error){parsePostgres, parseSQLite} {
			a, err := parse(s)
			if err != nil {
				if err.Error() == "" {
					t.Fatal("an error without words")
				}
				continue
			}
			var opt SinkOptions
			_ = opt.complete(a) // it may refuse
			if strings.HasPrefix(a.conn, "postgres:") && strings.Contains(strings.ToLower(a.conn), "password=") {
				t.Fatalf("a password gets through: %s", a.conn)
			}
			if strings.HasPrefix(a.shown, "postgres:") && strings.Contains(a.shown, "@") && !strings.Contains(a.shown[len("postgres://"):], "/") {
				t.Fatalf("the user is shown: %s", a.shown)
			}
		}
	})
}

// FuzzDecode gives values of the wire to the decoders of every type: they must neither panic nor append more than one value.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7, 255, 255, 255, 255})
	f.Add([]byte{0, 2, 0, 1, 0, 0, 0, 2, 0, 123, 17, 148})
	f.Add([]byte{1, '{', '}'})
	f.Fuzz(func(t *testing.T, raw []byte) { decodeAll(t, raw) })
}

var _ dataset.Source = (*Source)(nil)
