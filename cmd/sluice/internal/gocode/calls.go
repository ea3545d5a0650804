package gocode

import (
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// fluent are the steps that have a method whose arguments are easily told from the text. Every other one is called by its name, which does the
// same, so that a new step needs nothing here.
var fluent = map[string]func(args string) (call string, ok bool){
	"where":  func(args string) (string, bool) { return call("Filter", args), args != "" },
	"sort":   func(args string) (string, bool) { return list("Sort", args, false) },
	"select": func(args string) (string, bool) { return list("Select", args, true) },
	"drop":   func(args string) (string, bool) { return list("Drop", args, true) },
	"limit":  func(args string) (string, bool) { return "Limit(" + args + ")", digits(args) },
	"decode": func(args string) (string, bool) { return named("Decode", args) },
	"score":  func(args string) (string, bool) { return named("Score", args) },
	"phash":  func(args string) (string, bool) { return named("PHash", args) },
}

// step is the call of one step.
func step(name, args string) string {
	if f := fluent[name]; f != nil {
		if c, ok := f(args); ok {
			return c
		}
	}
	return call("Step", name, args)
}

// list gives the items of a list as arguments, as they are written or as the names they mean.
func list(method, args string, names bool) (string, bool) {
	items, err := dataset.Items(args)
	if err != nil || len(items) == 0 {
		return "", false
	}
	out := make([]string, len(items))
	for i, w := range items {
		out[i] = w.Text
		words, err := dataset.Words(w.Text)
		if err != nil || names && len(words) != 1 {
			return "", false
		}
		for _, x := range words {
			if _, _, option := x.Option(); option {
				return "", false
			}
		}
		if names {
			if out[i], err = w.Unquote(); err != nil {
				return "", false
			}
		}
	}
	return call(method, out...), true
}

// named gives options as arguments; other words have a meaning that the method may not know.
func named(method, args string) (string, bool) {
	words, err := dataset.Words(args)
	if err != nil {
		return "", false
	}
	out := make([]string, len(words))
	for i, w := range words {
		if _, _, ok := w.Option(); !ok {
			return "", false
		}
		out[i] = w.Text
	}
	return call(method, out...), true
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" && len(s) < 19 }
