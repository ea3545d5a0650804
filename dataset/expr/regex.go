package expr

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

func regexFunctions() []*function {
	return []*function{
		{name: "matches", sig: `matches(s, "regex")`, doc: "whether the regular expression (RE2) is found in the string; also s matches \"regex\"", example: `text matches "(?i)free +offer"`, min: 2, max: 2, check: checkMatches},
		{name: "regex_extract", sig: `regex_extract(s, "regex"[, group])`, doc: "the first match: its group, by default the first group or the whole; null without a match", example: `regex_extract(url, "://([^/]+)")`, min: 2, max: 3, check: checkExtract},
		{name: "regex_replace", sig: `regex_replace(s, "regex", "replacement")`, doc: "the string with every match replaced; $1 stands for the first group", example: `regex_replace(text, "[0-9]+", "0")`, min: 3, max: 3, check: checkRegexReplace},
	}
}

// pattern compiles the regular expression of argument 1, once per program.
func pattern(n *node, args []*tnode) (*regexp.Regexp, error) {
	if err := want(n, args, 0, kindString); err != nil {
		return nil, err
	}
	s, err := constString(n, 1)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, typeErr(n.args[1], "the regular expression is not valid RE2: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

func checkMatches(_ *checker, n *node, args []*tnode) (*tnode, error) {
	re, err := pattern(n, args)
	if err != nil {
		return nil, err
	}
	t := strict(n, typeBool, matchesImpl, args[0])
	t.aux = re
	if f, ok := literalMatch(re); ok {
		t.prep = f
	}
	return t, nil
}

// literalMatch replaces regular expressions that only look for a plain text, at the start, at the end or anywhere.
func literalMatch(re *regexp.Regexp) (func(s []byte) bool, bool) {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return nil, false
	}
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	var begin, end bool
	if len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		begin, parts = true, parts[1:]
	}
	if len(parts) > 0 && parts[len(parts)-1].Op == syntax.OpEndText {
		end, parts = true, parts[:len(parts)-1]
	}
	if len(parts) != 1 || parts[0].Op != syntax.OpLiteral || parts[0].Flags&syntax.FoldCase != 0 {
		return nil, false
	}
	text := []byte(string(parts[0].Rune))
	if bytes.ContainsRune(text, utf8.RuneError) { // stands for any invalid byte to the automaton
		return nil, false
	}
	switch {
	case begin && end:
		return func(s []byte) bool { return bytes.Equal(s, text) }, true
	case begin:
		return func(s []byte) bool { return bytes.HasPrefix(s, text) }, true
	case end:
		return func(s []byte) bool { return bytes.HasSuffix(s, text) }, true
	}
	return func(s []byte) bool { return bytes.Contains(s, text) }, true
}

var matchesImpl = &impl{slow: true, lift: true,
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		re, a := t.aux.(*regexp.Regexp), newTexts(args[0])
		if f, ok := t.prep.(func([]byte) bool); ok {
			return c.testRows(args, mask, func(i int) bool { return f(a.at(i)) }), nil
		}
		return c.testRows(args, mask, func(i int) bool { return re.Match(a.at(i)) }), nil
	},
	ref: func(t *tnode, args []any) (any, error) {
		return t.aux.(*regexp.Regexp).MatchString(args[0].(string)), nil
	},
}

type extraction struct {
	re    *regexp.Regexp
	group int
}

func checkExtract(_ *checker, n *node, args []*tnode) (*tnode, error) {
	re, err := pattern(n, args)
	if err != nil {
		return nil, err
	}
	x := extraction{re: re, group: min(1, re.NumSubexp())}
	if len(n.args) == 3 {
		g, ok := n.args[2].lit.(int64)
		if !ok || g < 0 || g > int64(re.NumSubexp()) {
			return nil, typeErr(n.args[2], "the group must be an integer literal from 0 to %d, the number of groups in the regular expression", re.NumSubexp())
		}
		x.group = int(g)
	}
	t := strict(n, textType(args[0]), extractImpl, args[0])
	t.aux = x
	return t, nil
}

var extractImpl = &impl{slow: true,
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		x, a := t.aux.(extraction), newTexts(args[0])
		return c.mapTexts(t, args, mask, func(dst []byte, i int) ([]byte, bool) {
			s := a.at(i)
			loc := x.re.FindSubmatchIndex(s)
			if loc == nil || loc[2*x.group] < 0 {
				return nil, false
			}
			return append(dst, s[loc[2*x.group]:loc[2*x.group+1]]...), true
		})
	},
	ref: func(t *tnode, args []any) (any, error) {
		x := t.aux.(extraction)
		loc := x.re.FindStringSubmatchIndex(args[0].(string))
		if loc == nil || loc[2*x.group] < 0 {
			return nil, nil
		}
		return args[0].(string)[loc[2*x.group]:loc[2*x.group+1]], nil
	},
}

type replacement struct {
	re *regexp.Regexp
	to string
}

func checkRegexReplace(_ *checker, n *node, args []*tnode) (*tnode, error) {
	re, err := pattern(n, args)
	if err != nil {
		return nil, err
	}
	to, err := constString(n, 2)
	if err != nil {
		return nil, err
	}
	t := strict(n, textType(args[0]), regexReplaceImpl, args[0])
	t.aux = replacement{re, to}
	return t, nil
}

var regexReplaceImpl = &impl{slow: true,
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		r, a := t.aux.(replacement), newTexts(args[0])
		to := []byte(r.to)
		return c.tryTexts(t, args, mask, func(dst []byte, i int) ([]byte, bool, error) {
			s := a.at(i)
			if (len(s)+1)*(len(to)+1) > c.limit { // perhaps too long: count
				groups := bytes.Count(to, []byte("$"))
				if size := len(s)*(1+groups) + len(r.re.FindAllIndex(s, -1))*len(to); size > c.limit {
					return nil, false, c.tooLong("regex_replace", size)
				}
			}
			return append(dst, r.re.ReplaceAll(s, to)...), true, nil
		})
	},
	ref: func(t *tnode, args []any) (any, error) {
		r := t.aux.(replacement)
		return r.re.ReplaceAllString(args[0].(string), r.to), nil
	},
}
