package token

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedFile is a token that is found in texts before they are divided into words: [MASK] and the like, and those that were added to a vocabulary.
type addedFile struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // only where no letter is beside it
	Lstrip     bool   `json:"lstrip"`      // takes the blanks before it along
	Rstrip     bool   `json:"rstrip"`      // and those after it
	Normalized bool   `json:"normalized"`  // is looked for in the normalized text
}

// added finds such tokens, the longest of those that begin at a place, by their first bytes.
type added struct {
	first [256][]addedFile
	any   bool
}

func (a *added) add(f addedFile) {
	if f.Content == "" {
		return
	}
	a.any = true
	c := &a.first[f.Content[0]]
	*c = append(*c, f)
	slices.SortStableFunc(*c, func(x, y addedFile) int { return len(y.Content) - len(x.Content) })
}

// at is the token that s begins with.
func (a *added) at(s string) *addedFile {
	of := a.first[s[0]]
	for i := range of {
		if strings.HasPrefix(s, of[i].Content) {
			return &of[i]
		}
	}
	return nil
}

// divide calls text for what lies between the tokens of s, and token for each of them, in their order, until one of them says that it is enough.
func (a *added) divide(s string, text func(string) bool, token func(id int64) bool) bool {
	done := 0 // s before it was given out
	for i := 0; a.any && i < len(s); {
		f := a.at(s[i:])
		if f == nil {
			i++
			continue
		}
		from, to := i, i+len(f.Content)
		i = to
		if f.SingleWord && (wordBeside(utf8.DecodeLastRuneInString(s[:from])) || wordBeside(utf8.DecodeRuneInString(s[to:]))) {
			continue
		}
		if f.Lstrip {
			from = max(done, len(strings.TrimRightFunc(s[:from], unicode.IsSpace)))
		}
		if f.Rstrip {
			to = len(s) - len(strings.TrimLeftFunc(s[to:], unicode.IsSpace))
		}
		if from > done && !text(s[done:from]) || !token(f.ID) {
			return false
		}
		done, i = to, to
	}
	return done == len(s) || text(s[done:])
}

func wordBeside(r rune, size int) bool { return size > 0 && wordClass(r) == letterClass }

// finders makes the two passes: over the text as it is, and as it is normalized.
func (t *Tokenizer) finders(files []addedFile, vocab map[string]int64) {
	for _, f := range files {
		if id, ok := vocab[f.Content]; ok {
			f.ID = id
		}
		if f.Normalized {
			f.Content = t.normal.apply(f.Content)
			t.late.add(f)
		} else {
			t.early.add(f)
		}
	}
}
