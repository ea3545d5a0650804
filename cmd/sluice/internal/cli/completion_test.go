package cli

import (
	"strings"
	"testing"
)

func TestLastStep(t *testing.T) {
	for _, tt := range []struct {
		text string
		last string
		open bool
	}{
		{"a.csv", "a.csv", false}, {"a.csv | wh", " wh", false}, {"a.csv | where a || b", " where a || b", false},
		{"a.csv | where (x | y", " where (x | y", false}, {`a.csv | where t == "a|b" | li`, " li", false},
		{`a.csv | where t == "a|`, ` where t == "a|`, true}, {`a.csv | where t == "\"|" | x`, " x", false}, {"a | ", " ", false}, {"", "", false},
	} {
		if at, open := lastStep(tt.text); tt.text[at:] != tt.last || open != tt.open {
			t.Errorf("%s: %q %v, want %q %v", tt.text, tt.text[at:], open, tt.last, tt.open)
		}
	}
}

// FuzzCompletion: whatever was typed, what is offered begins with it up to the last token.
func FuzzCompletion(f *testing.F) {
	for _, s := range []string{"three.jsonl | wh", "three.jsonl | where id > 1 | limit", "'\"`([{|", "a + b n", "\\", "x | limit n=", "\xff|\x00"} {
		f.Add(s)
	}
	a := &app{Program: fakeProgram()}
	f.Fuzz(func(t *testing.T, text string) {
		at, _ := lastStep(text)
		token := tokenStart(text[at:])
		for _, c := range a.completePipeline(t.Context(), text) {
			if !strings.HasPrefix(c.word, text[:at]) || !strings.HasSuffix(c.word, c.short) || token > len(text)-at {
				t.Errorf("%q offers %q", text, c.word)
			}
		}
	})
}
