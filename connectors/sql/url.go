package sql

import (
	"errors"
	"net/url"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// The kinds of database, which are also the schemes.
const (
	postgresScheme = "postgres"
	sqliteScheme   = "sqlite"
)

// maxURL bounds what is parsed.
const maxURL = 64 << 10

// ours are the parameters of a URL that are options of the source or the sink, not of the connection.
var ours = []string{"table", "query", "by", "schema", "mode", "key"}

// address is a URL or path of a database, taken apart.
type address struct {
	conn    string            // what the driver connects to, without options of ours
	shown   string            // for people, plans and logs
	options map[string]string // options of ours that stood in the URL
}

// namesPassword tells whether one of the parameters is called a password, in whatever spelling: one that the driver does not know would
// still be kept and shown.
func namesPassword(q url.Values) bool {
	for name := range q {
		if strings.Contains(strings.ToLower(name), "password") {
			return true
		}
	}
	return false
}

// parsePostgres takes a postgres:// URL apart. Passwords are refused: what is typed ends up in plans, logs and the history of shells.
func parsePostgres(text string) (address, error) {
	if len(text) > maxURL {
		return address{}, dataset.Usagef("open postgres: the URL has %d bytes, over the limit of %d", len(text), maxURL)
	}
	u, err := url.Parse(text)
	if err != nil { // the error of url.Parse quotes what it was given
		why := errors.New("it cannot be parsed")
		if e, ok := errors.AsType[*url.Error](err); ok {
			why = errors.New(strings.ReplaceAll(e.Err.Error(), text, "the URL"))
		}
		if strings.Contains(text, "@") {
			why = errors.New("it cannot be parsed")
		}
		return address{}, dataset.Usagef("open postgres: %w; write postgres://user@host:5432/database?table=name, with %%XX for odd characters", why)
	}
	if u.Host == "" && u.Opaque != "" || u.Fragment != "" {
		return address{}, dataset.Usagef("open postgres: write postgres://user@host:5432/database?table=name, with %%XX for odd characters")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return address{}, dataset.Usagef("open postgres %s: the part behind ? cannot be parsed; write %%XX for odd characters", host(u))
	}
	if _, has := u.User.Password(); has || namesPassword(q) {
		return address{}, dataset.Usagef("open postgres %s: the URL holds a password, which would be kept in plans, logs and the shell's history; leave it out and set PGPASSWORD, or put it into ~/.pgpass or a service file (?service=name)", host(u))
	}
	a := address{options: map[string]string{}}
	for _, name := range ours {
		if q.Has(name) {
			if len(q[name]) > 1 {
				return address{}, dataset.Usagef("open postgres %s: the URL says %s= twice", host(u), name)
			}
			a.options[name] = q.Get(name)
			q.Del(name)
		}
	}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // libpq knows no other form of a space
	u.Scheme = postgresScheme
	a.conn, a.shown = u.String(), host(u)
	if s := q.Get("service"); s != "" && u.Host == "" {
		a.shown += "?service=" + url.QueryEscape(s)
	}
	return a, nil
}

// host is the place that a URL names, without user and parameters.
func host(u *url.URL) string {
	return (&url.URL{Scheme: postgresScheme, Host: u.Host, Path: "/" + strings.TrimPrefix(u.Path, "/")}).String()
}

// parseSQLite takes "sqlite:path?table=name", or a bare path, apart. The path is taken as it is, without %XX; what follows its first
// question mark is options.
func parseSQLite(text string) (address, error) {
	path, query, has := strings.Cut(strings.TrimPrefix(text, sqliteScheme+":"), "?")
	if strings.HasPrefix(path, "//") {
		path = path[2:]
		if !strings.HasPrefix(path, "/") {
			return address{}, dataset.Usagef("open %s: SQLite databases are files of this machine; write sqlite:%s, or sqlite:///%s for an absolute path", text, path, path)
		}
	}
	if path == "" || path == ":memory:" || strings.ContainsRune(path, 0) {
		return address{}, dataset.Usagef("open sqlite: %q names no file; write sqlite:path.db?table=name", path)
	}
	a := address{conn: path, shown: sqliteScheme + ":" + path, options: map[string]string{}}
	if !has {
		return a, nil
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return address{}, dataset.Usagef("open %s: the part behind ? cannot be parsed: %w; write %%XX for odd characters", a.shown, err)
	}
	for name, values := range q {
		known := false
		for _, o := range ours {
			known = known || o == name
		}
		if !known || len(values) > 1 {
			return address{}, dataset.Usagef("open %s: ?%s= is unknown or given twice%s", a.shown, name, dataset.DidYouMean(name, ours))
		}
		a.options[name] = values[0]
	}
	return a, nil
}

// merge sets an option that stood in the URL; one that was also given behind the path must say the same.
func (a address) merge(name string, into *string) error {
	v, has := a.options[name]
	if !has {
		return nil
	}
	if *into != "" && *into != v {
		return dataset.Usagef("open %s: the URL says %s=%s and the options %s=%s", a.shown, name, v, name, *into)
	}
	*into = v
	return nil
}

// only refuses options in the URL that do not belong here.
func (a address) only(what string, names ...string) error {
	for name := range a.options {
		found := false
		for _, n := range names {
			found = found || n == name
		}
		if !found {
			return dataset.Usagef("open %s: %s= is no option of a %s", a.shown, name, what)
		}
	}
	return nil
}
