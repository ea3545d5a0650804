package commit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// mostDiff bounds a diff: more than this is another plan altogether.
const mostDiff = 8

// diffPlans says in lines what differs between two canonical plans.
func diffPlans(was, is []byte) []string {
	var a, b any
	if decode(was, &a) != nil || decode(is, &b) != nil {
		return []string{"the plan of the last run cannot be read"}
	}
	d := &differ{}
	d.compare("", a, b)
	if n := len(d.lines); n > mostDiff {
		d.lines = append(d.lines[:mostDiff], fmt.Sprintf("and %d more differences", n-mostDiff))
	}
	return d.lines
}

func decode(p []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(p))
	dec.UseNumber()
	return dec.Decode(v)
}

type differ struct{ lines []string }

func (d *differ) add(path, format string, a ...any) {
	d.lines = append(d.lines, strings.TrimPrefix(path+": ", ": ")+fmt.Sprintf(format, a...))
}

func (d *differ) compare(path string, a, b any) {
	if reflect.DeepEqual(a, b) {
		return
	}
	am, aok := a.(map[string]any)
	bm, bok := b.(map[string]any)
	if aok && bok {
		d.objects(path, am, bm)
		return
	}
	al, aok := a.([]any)
	bl, bok := b.([]any)
	switch {
	case aok && bok && path == "steps" && !sameSteps(al, bl):
		d.add("steps", "were %s, are %s", stepNames(al), stepNames(bl))
	case aok && bok && len(al) == len(bl) && path == "steps":
		for i := range al {
			d.compare(fmt.Sprintf("step %d (%s)", i+1, stepName(bl[i])), al[i], bl[i])
		}
	default:
		d.add(path, "was %s, is %s", show(a), show(b))
	}
}

func (d *differ) objects(path string, a, b map[string]any) {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		sub := k
		if k == "params" && path != "" {
			sub = path
		} else if path != "" {
			sub = path + " " + k
		}
		av, aok := a[k]
		bv, bok := b[k]
		switch {
		case !aok:
			d.add(sub, "was not set, is %s", show(bv))
		case !bok:
			d.add(sub, "was %s, is not set", show(av))
		default:
			d.compare(sub, av, bv)
		}
	}
}

func sameSteps(a, b []any) bool { return stepNames(a) == stepNames(b) }

func stepNames(steps []any) string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = stepName(s)
	}
	return strings.Join(names, " | ")
}

func stepName(s any) string {
	m, _ := s.(map[string]any)
	for _, k := range []string{"source", "step", "sink"} {
		if n, ok := m[k].(string); ok {
			return n
		}
	}
	return "?"
}

// show is a value in a diff, cut to a readable length.
func show(v any) string {
	raw, err := Canonical(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if s := []rune(string(raw)); len(s) > 120 {
		return string(s[:117]) + "…"
	}
	return string(raw)
}
