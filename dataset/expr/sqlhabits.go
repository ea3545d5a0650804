package expr

import (
	"strings"

	"github.com/expr-lang/expr/parser/lexer"
)

// habits answers words that follow an operand in SQL or Python but mean nothing here with the form to use.
var habits = map[string]string{
	"and":     "write `and` in lower case (or &&)",
	"or":      "write `or` in lower case (or ||)",
	"not":     "write `not` in lower case; for membership: x not in [1, 2]",
	"in":      "write `in` in lower case: x in [1, 2]",
	"is":      "`is` is not an operator: write x == nil for `is null`, x != nil for `is not null`",
	"isnull":  "write x == nil",
	"notnull": "write x != nil",
	"between": "`between` is not an operator: write x >= low and x <= high (or low <= x <= high)",
	"like":    "`like` is not an operator: write contains(x, \"part\"), starts_with(x, \"a\"), ends_with(x, \"z\") or x matches \"regular expression\"",
	"ilike":   "`ilike` is not an operator: write contains(lower(x), \"part\") or x matches \"(?i)regular expression\"",
	"rlike":   "write x matches \"regular expression\"",
	"regexp":  "write x matches \"regular expression\"",
	"similar": "write x matches \"regular expression\"",
	"as":      "`as` is not an operator: write cast(x, \"type\") to convert, and the step `with name = expression` to name a column",
	"mod":     "write x % y",
	"div":     "write floor(x / y)",
	"xor":     "write a != b",
	"eq":      "write x == y",
	"then":    "write condition ? a : b",
	"when":    "write condition ? a : b",
	"else":    "write condition ? a : b",
	"if":      "write condition ? a : b",
	"collate": "collations are not supported: compare lower(x)",
}

// prefixHabits answers words that start an operand in SQL when another operand follows them.
var prefixHabits = map[string]string{
	"case":      "`case` is not part of the language: write condition ? a : b, nested for more branches",
	"not":       "write `not` in lower case (or !)",
	"exists":    "sub-queries are not part of an expression; use a join step",
	"select":    "an expression is only the condition or the value; use the steps `where` and `select`",
	"where":     "an expression is only the condition; drop the word `where`",
	"interval":  "write duration(\"1h30m\")",
	"timestamp": "write timestamp(\"2024-01-31T12:00:00Z\")",
	"date":      "write date(\"2024-01-31\")",
	"if":        "write condition ? a : b",
	"lambda":    "functions cannot be defined in an expression",
	"let":       "`let` is not supported; name a column with the step `with name = expression`",
}

// checkHabits finds forms of other languages before the parser fails on them (or silently reads them as something
// else) and returns an error that shows the form to use.
func checkHabits(src string, tokens []lexer.Token, byteAt func(int) int) error {
	fail := func(t lexer.Token, msg string) error {
		return &SyntaxError{Offset: byteAt(t.From), Msg: msg}
	}
	end := 0
	for i, t := range tokens {
		if gap := src[end:max(end, byteAt(t.From))]; t.Kind != lexer.EOF && strings.TrimSpace(gap) != "" {
			return &SyntaxError{Offset: end + strings.IndexFunc(gap, notSpace), Msg: "comments are not part of an expression; for integer division write floor(a / b)"}
		}
		if t.Kind != lexer.EOF {
			end = byteAt(t.To)
		}
		after := endsOperand(tokens, i-1)
		var next lexer.Token
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		switch t.Kind {
		case lexer.Operator:
			if msg := operatorHabit(tokens, i, after, next); msg != "" {
				return fail(t, msg)
			}
		case lexer.Identifier:
			word := strings.ToLower(t.Value)
			if msg, ok := habits[word]; ok && after {
				return fail(t, msg)
			}
			if msg, ok := prefixHabits[word]; ok && !after && startsOperand(next, t.Value == "NOT") {
				return fail(t, msg)
			}
		}
	}
	if rest := src[end:]; strings.TrimSpace(rest) != "" {
		return &SyntaxError{Offset: end + strings.IndexFunc(rest, notSpace), Msg: "comments are not part of an expression; for integer division write floor(a / b)"}
	}
	return nil
}

func notSpace(r rune) bool { return !strings.ContainsRune(" \t\r\n", r) }

// startsOperand reports whether t begins an operand; a bracket counts only where paren says so, since name(
// is a call.
func startsOperand(t lexer.Token, paren bool) bool {
	switch t.Kind {
	case lexer.Identifier, lexer.Number, lexer.String, lexer.Bytes:
		return true
	case lexer.Bracket:
		return paren && t.Value == "("
	}
	return false
}

func operatorHabit(tokens []lexer.Token, i int, after bool, next lexer.Token) string {
	t := tokens[i]
	switch t.Value {
	case "=", ":=":
		return "a single = is not a comparison: write =="
	case "<":
		if next.Is(lexer.Operator, ">") && next.From == t.To {
			return "<> is not an operator: write !="
		}
	case "&":
		return "& is not an operator: write and (or &&)"
	case "|":
		return "| is not an operator of expressions: write or (or ||) for alternatives, name(x) to call a function"
	case "<=", ">=", "==", "!=":
		if next.Is(lexer.Operator, "=", ">", "==") && next.From == t.To {
			return t.Value + next.Value + " is not an operator: write <=, ==, != or >="
		}
	case "in":
		if after && next.Is(lexer.Bracket, "(") && commaInside(tokens[i+1:]) {
			return "a list is written in square brackets: x in [1, 2, 3]"
		}
	case "let":
		return prefixHabits["let"]
	case ";":
		return "only one expression is allowed; name a column with the step `with name = expression`"
	case "#", "##":
		return "# (element of a predicate) is not supported"
	case "..":
		return "ranges are not supported: write low <= x <= high"
	case "::":
		return ":: is not an operator: write cast(x, \"type\")"
	case "?":
		if next.Is(lexer.Operator, ":") {
			return "?: is not an operator: write a ?? b"
		}
	}
	return ""
}

// commaInside reports whether the bracket that tokens starts with holds a comma of its own.
func commaInside(tokens []lexer.Token) bool {
	depth := 0
	for _, t := range tokens {
		switch {
		case t.Is(lexer.Bracket, "(", "[", "{"):
			depth++
		case t.Is(lexer.Bracket):
			if depth--; depth == 0 {
				return false
			}
		case t.Is(lexer.Operator, ",") && depth == 1:
			return true
		}
	}
	return false
}
