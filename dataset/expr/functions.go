package expr

import (
	"fmt"
	"slices"
)

// function is one entry of the language. check gets checked arguments; form, where set, gets the bare tree, because it
// decides which arguments are evaluated.
type function struct {
	name, sig, doc, example string
	min, max                int // arguments; max < 0: any number
	fallible                bool
	check                   func(c *checker, n *node, args []*tnode) (*tnode, error)
	form                    func(c *checker, n *node) (*tnode, error)
}

// FunctionDoc describes one function for help texts.
type FunctionDoc struct {
	Name      string
	Signature string
	Doc       string // one line
	Example   string // an expression that compiles when the columns it names exist
}

var (
	functions = map[string]*function{} // callable by name
	operators = map[string]*function{} // written as signs or words between operands
	aliases   = map[string]string{"len": "length", "startsWith": "starts_with", "endsWith": "ends_with", "power": "pow", "ceiling": "ceil"}
)

func init() {
	for _, group := range [][]*function{
		stringFunctions(), regexFunctions(), timeFunctions(), mathFunctions(), listFunctions(), castFunctions(), hashFunctions(),
	} {
		for _, f := range group {
			functions[f.name] = f
		}
	}
	for _, group := range [][]*function{compareOperators(), arithmeticOperators(), logicOperators(), indexOperators()} {
		for _, f := range group {
			operators[f.name] = f
		}
	}
}

func lookup(name string) *function {
	if f, ok := functions[name]; ok {
		return f
	}
	return operators[name]
}

// Functions lists the functions of the language by name.
func Functions() []FunctionDoc {
	out := make([]FunctionDoc, 0, len(functions))
	for _, f := range functions {
		out = append(out, FunctionDoc{Name: f.name, Signature: f.sig, Doc: f.doc, Example: f.example})
	}
	slices.SortFunc(out, func(a, b FunctionDoc) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

// Fallible reports whether evaluating e can fail for a row: integer arithmetic may overflow, casts may not fit. It
// decides without a schema, so it may say true of an expression that turns out to compute in floats.
func (e *Expr) Fallible() bool {
	found := false
	e.root.walk(func(n *node) {
		if n.kind != nodeCall {
			return
		}
		f := lookup(n.name)
		found = found || f != nil && f.fallible && !safeCall(n)
	})
	return found
}

// safeCall reports calls of fallible functions whose arguments show that they cannot fail.
func safeCall(n *node) bool {
	literals := true
	for i, a := range n.args {
		switch n.name {
		case opCond, "??", "min", "max":
			if (i > 0 || n.name != opCond) && len(n.args) <= 3 && (len(n.args) == 2 || n.name == opCond) && settles(a) {
				return true
			}
		}
		switch a.lit.(type) {
		case float64:
			if n.name == "+" || n.name == "-" || n.name == "*" {
				return true // a float operand makes it float arithmetic
			}
		case string:
			if n.name == "+" {
				return true
			}
		}
		literals = literals && a.kind == nodeLiteral
	}
	return literals // constants that fail are refused by Compile
}

// settles reports an alternative whose type any other converts to without failing. Others may meet uint64 beside int64,
// or times of different units, and then a value may not fit.
func settles(n *node) bool {
	if n.kind != nodeLiteral {
		return false
	}
	v, isInt := n.lit.(int64)
	return !isInt || v >= 0
}

// foreign names functions of other languages with what to write instead.
var foreign = map[string]string{
	"now": "is not deterministic, so a plan could not be resumed; pass the time in as timestamp(\"…\")", "today": "is not deterministic; write date(\"2024-01-31\")",
	"random": "is not deterministic; use the step `sample`, or hash(x) % 100 < 10", "rand": "is not deterministic; use the step `sample`, or hash(x) % 100 < 10",
	"uuid":     "is not deterministic",
	"coalesce": "is written a ?? b", "ifnull": "is written a ?? b", "nvl": "is written a ?? b", "isnull": "is written x == nil", "is_null": "is written x == nil",
	"if": "is written condition ? a : b", "iff": "is written condition ? a : b", "case": "is written condition ? a : b", "nullif": "is written a == b ? nil : a",
	"between": "is written low <= x <= high", "like": "is written x matches \"regular expression\" or contains(x, \"part\")",
	"isnan": "is called is_nan", "ln": "is called log", "ucase": "is called upper", "lcase": "is called lower", "strlen": "is called length",
	"char_length": "is called length", "size": "is called length", "count": "is called length", "substring": "is called substr and counts from 0", "left": "is written substr(x, 0, n)",
	"regexp_matches": "is called matches", "regexp_replace": "is called regex_replace", "regexp_extract": "is called regex_extract",
	"to_timestamp": "is called timestamp", "datetime": "is called timestamp", "to_date": "is called date", "date_part": "is written year(x), month(x), …",
	"extract": "is written year(x), month(x), …", "datetrunc": "is called date_trunc", "str": "is called string", "to_string": "is called string",
	"integer": "is called int", "double": "is called float", "boolean": "is called bool", "greatest": "is called max", "least": "is called min",
	"not": "is written not x, in lower case", "array_contains": "is called contains", "list_contains": "is called contains", "sum": "adds up rows: use the step `group`",
	"filter": "over lists is not supported", "map": "over lists is not supported", "any": "over lists is not supported; write value in list", "all": "over lists is not supported",
}

func unknownFunction(name string) string {
	if hint, ok := foreign[name]; ok {
		return name + " " + hint
	}
	names := make([]string, 0, len(functions)+len(foreign))
	for f := range functions {
		names = append(names, f)
	}
	slices.Sort(names)
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("unknown function %s; did you mean %s?", name, functions[near].sig)
	}
	return fmt.Sprintf("unknown function %s; the functions are %v", name, names)
}
