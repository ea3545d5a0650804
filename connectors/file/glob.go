package file

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluice-data/sluice/dataset"
)

// maxAlternatives bounds how many patterns the braces of one pattern may stand for.
const maxAlternatives = 1024

type segmentKind uint8

const (
	literal  segmentKind = iota // one name, byte for byte
	wildcard                    // one name, by doublestar's rules
	deep                        // **: any number of folders
	tree                        // everything below a folder that was named itself
)

type segment struct {
	text string
	kind segmentKind
}

// Matcher decides which paths a pattern means, one folder at a time, so that a walk never enters a folder that cannot hold a match.
// Wildcards do not match names that begin with a dot unless their own segment does, as in a shell; below a folder that is named as a
// whole, names that begin with _ or . are left out.
type Matcher struct {
	pattern string
	root    string // the folder that all matches lie below: "" is the working folder, "/" or "s3://bucket/" a root
	exact   string // the one path that matches, where paths have no folders
	alts    [][]segment
	leave   func(dir string) bool // folders that need not be listed though they may hold matches; nil: none
}

// leaves tells whether a folder is left out of a listing.
func (m *Matcher) leaves(dir string) bool { return m.leave != nil && m.leave(dir) }

// state is a position in one alternative: the segments before seg are matched.
type state struct{ alt, seg int }

// isGlob reports whether text has characters that mean more than themselves.
func isGlob(text string) bool { return !isPlain(text) && strings.ContainsAny(text, `*?[{\`) }

// compile makes the matcher of a pattern. folder says that the pattern names a folder.
func compile(p dataset.Pattern, folder bool) (*Matcher, error) {
	m := &Matcher{pattern: p.Text}
	if isPlain(p.Text) {
		m.root, m.exact = p.Text, p.Text
		return m, nil
	}
	texts := []string{p.Text}
	if !p.Literal && isGlob(p.Text) && !folder {
		if !doublestar.ValidatePattern(p.Text) {
			return nil, dataset.Usagef("pattern %q: brackets or braces do not close", p.Text)
		}
		var err error
		if texts, err = expandBraces(p.Text); err != nil {
			return nil, err
		}
	}
	for i, text := range texts {
		place, rest := SplitURL(clean(text))
		if isGlob(place) && !p.Literal {
			return nil, dataset.Usagef("pattern %q: the name of a bucket cannot be a pattern", p.Text)
		}
		rest, abs := strings.CutPrefix(rest, "/")
		if abs {
			if i > 0 && m.root != place+"/" {
				return nil, dataset.Usagef("pattern %q: it means files of several places; give them as several paths", p.Text)
			}
			m.root = place + "/"
		}
		var alt []segment
		for name := range strings.SplitSeq(rest, "/") {
			switch {
			case name == "" || name == ".":
			case p.Literal || folder || !isGlob(name):
				alt = append(alt, segment{name, literal})
			case name == "**":
				alt = append(alt, segment{name, deep})
			default:
				alt = append(alt, segment{name, wildcard})
			}
		}
		if n := len(alt); n > 0 && alt[n-1].kind == deep { // the folder that a/** names is itself no match
			alt = append(alt, segment{"*", wildcard})
		}
		if folder || strings.HasSuffix(p.Text, "/") {
			alt = append(alt, segment{"", tree})
		}
		m.alts = append(m.alts, alt)
	}
	m.cutRoot()
	return m, nil
}

// clean tidies a pattern without touching ".." inside it, whose meaning depends on links.
func clean(text string) string {
	if isPlain(text) {
		return text
	}
	if place, rest := SplitURL(text); place != "" {
		return place + clean("/"+rest)
	}
	abs := strings.HasPrefix(text, "/")
	var out []string
	for s := range strings.SplitSeq(text, "/") {
		if s != "" && s != "." {
			out = append(out, s)
		}
	}
	if abs {
		return "/" + strings.Join(out, "/")
	}
	return strings.Join(out, "/")
}

// cutRoot moves the folders that all alternatives share from the patterns into root.
func (m *Matcher) cutRoot() {
	for {
		for _, alt := range m.alts {
			if len(alt) < 2 || alt[0] != m.alts[0][0] || alt[0].kind != literal {
				return
			}
		}
		m.root = join(m.root, m.alts[0][0].text)
		for i := range m.alts {
			m.alts[i] = m.alts[i][1:]
		}
	}
}

// join is path.Join without cleaning, so that ".." keeps its place.
func join(folder, name string) string {
	switch {
	case folder == "":
		return name
	case strings.HasSuffix(folder, "/"):
		return folder + name
	}
	return folder + "/" + name
}

// expandBraces writes out the braces that hold a slash; the others are left to doublestar, which matches them within a name.
func expandBraces(text string) ([]string, error) {
	todo, done := []string{text}, []string(nil)
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		from, to := slashBraces(t)
		if from < 0 {
			done = append(done, t)
			continue
		}
		parts := splitBraces(t[from+1 : to])
		if len(todo)+len(done)+len(parts) > maxAlternatives {
			return nil, dataset.Usagef("pattern %q: its braces stand for more than %d patterns", text, maxAlternatives)
		}
		for i := len(parts) - 1; i >= 0; i-- {
			todo = append(todo, t[:from]+parts[i]+t[to+1:])
		}
	}
	return done, nil
}

// slashBraces finds the first outermost pair of braces with a slash in it, or -1.
func slashBraces(t string) (from, to int) {
	open, depth, slash, class := -1, 0, false, false
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			if depth == 0 {
				open, slash = i, false
			}
			depth++
		case c == '}' && depth > 0:
			depth--
			if depth == 0 && slash {
				return open, i
			}
		case c == '/' && depth > 0:
			slash = true
		}
	}
	return -1, -1
}

// splitBraces splits the inside of braces at its own commas.
func splitBraces(t string) []string {
	var out []string
	depth, last, class := 0, 0, false
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth == 0:
			out = append(out, t[last:i])
			last = i + 1
		}
	}
	return append(out, t[last:])
}

// start is the set of states at the root.
func (m *Matcher) start() []state {
	var set []state
	for a := range m.alts {
		set = m.reach(set, state{a, 0})
	}
	return set
}

// reach adds a state and those that ** reaches from it by matching no folder.
func (m *Matcher) reach(set []state, s state) []state {
	for _, have := range set {
		if have == s {
			return set
		}
	}
	set = append(set, s)
	if alt := m.alts[s.alt]; s.seg < len(alt) && alt[s.seg].kind == deep {
		set = m.reach(set, state{s.alt, s.seg + 1})
	}
	return set
}

// step appends to next the states after a name below a folder in the states set.
func (m *Matcher) step(next, set []state, name string) []state {
	for _, s := range set {
		alt := m.alts[s.alt]
		if s.seg == len(alt) {
			continue
		}
		seg := alt[s.seg]
		if !seg.matches(name) {
			continue
		}
		if seg.kind == deep || seg.kind == tree {
			next = m.reach(next, s)
		} else {
			next = m.reach(next, state{s.alt, s.seg + 1})
		}
	}
	return next
}

func (s segment) matches(name string) bool {
	switch s.kind {
	case literal:
		return name == s.text
	case tree:
		return name[0] != '_' && name[0] != '.'
	case deep:
		return name[0] != '.' && name != stateFolder
	}
	if name[0] == '.' && s.text[0] != '.' {
		return false
	}
	ok, err := doublestar.Match(s.text, name)
	return ok && err == nil
}

// stateFolder is where results keep their own state; no glob looks into it.
const stateFolder = "_sluice"

// accepts reports whether a file in the states set is a match.
func (m *Matcher) accepts(set []state) bool {
	for _, s := range set {
		alt := m.alts[s.alt]
		if s.seg == len(alt) || s.seg == len(alt)-1 && alt[s.seg].kind == tree {
			return true
		}
	}
	return false
}

// enters reports whether a folder in the states set can hold a match.
func (m *Matcher) enters(set []state) bool {
	for _, s := range set {
		if s.seg < len(m.alts[s.alt]) {
			return true
		}
	}
	return false
}

// only is the names that a folder in the states set can match when all of them are literal, so that it need not be listed.
func (m *Matcher) only(set []state) (names []string, ok bool) {
	for _, s := range set {
		if alt := m.alts[s.alt]; s.seg < len(alt) {
			if alt[s.seg].kind != literal {
				return nil, false
			}
			names = append(names, alt[s.seg].text)
		}
	}
	return names, true
}

// Match reports whether a whole path is meant.
func (m *Matcher) Match(p string) bool {
	if m.exact != "" {
		return p == m.exact
	}
	rest := strings.TrimPrefix(p, "./")
	if m.root != "" {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, join(m.root, "")); !ok {
			return false
		}
	}
	set := m.start()
	for name := range strings.SplitSeq(rest, "/") {
		if name == "" || len(set) == 0 {
			return false
		}
		set = m.step(nil, set, name)
	}
	return m.accepts(set)
}

// Root is the folder below which all matches lie.
func (m *Matcher) Root() string { return m.root }

// String is the pattern as it was typed.
func (m *Matcher) String() string { return m.pattern }

// PatternWarning says what is odd about a pattern, or "".
func PatternWarning(p dataset.Pattern) string {
	if p.Literal {
		return ""
	}
	for name := range strings.SplitSeq(p.Text, "/") {
		if strings.Contains(name, "**") && name != "**" {
			fixed := strings.Replace(p.Text, name, "**/"+strings.ReplaceAll(name, "**", "*"), 1)
			return fmt.Sprintf("in %q, ** inside a name means * and looks into no folder; for all folders write %q", p.Text, fixed)
		}
	}
	return ""
}

// Extension is the extension that picks a reader, lower case and without dot, after a compression suffix is stripped.
func Extension(p string) string {
	base := path.Base(withoutQuery(p))
	if c := Compression(base); c != "" {
		base = base[:strings.LastIndexByte(base, '.')]
	}
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		return strings.ToLower(base[i+1:])
	}
	return ""
}

// withoutQuery is a web address without its query; other paths are as they are.
func withoutQuery(p string) string {
	if isPlain(p) {
		p, _, _ = strings.Cut(p, "?")
	}
	return p
}
