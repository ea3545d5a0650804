package token

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// bpe joins the pairs of a word's bytes in the order of the merges.
type bpe struct {
	vocab   map[string]int64
	rank    map[merge]int
	unknown int64
	known   bool // there is an unknown token
	letters [256]string
}

func newBPE(f *modelFile) (*bpe, error) {
	for name, has := range map[string]bool{"dropout": f.Dropout != 0, "continuing_subword_prefix": f.Prefix != "", "end_of_word_suffix": f.Suffix != "",
		"byte_fallback": f.ByteFallback, "ignore_merges": f.IgnoreMerges} {
		if has {
			return nil, fmt.Errorf("its BPE has %s, which is not supported: byte-level BPE is", name)
		}
	}
	b := &bpe{vocab: f.Vocab, rank: make(map[merge]int, len(f.Merges)), letters: byteLetters()}
	for i, m := range f.Merges {
		b.rank[m] = i
	}
	b.unknown, b.known = f.Vocab[f.Unknown]
	return b, nil
}

// byteLetters is the letter that stands for each byte in the vocabularies of byte-level models: printable ones for themselves.
func byteLetters() (out [256]string) {
	n := rune(256)
	for i := range 256 {
		if i >= '!' && i <= '~' || i >= 0xA1 && i <= 0xAC || i >= 0xAE {
			out[i] = string(rune(i))
		} else {
			out[i] = string(n)
			n++
		}
	}
	return out
}

func (b *bpe) tokens(dst []int64, word string) []int64 {
	parts := make([]string, len(word))
	for i := range len(word) {
		parts[i] = b.letters[word[i]]
	}
	for len(parts) > 1 {
		best, at := -1, 0
		for i := range len(parts) - 1 {
			if r, ok := b.rank[merge{parts[i], parts[i+1]}]; ok && (best < 0 || r < best) {
				best, at = r, i
			}
		}
		if best < 0 {
			break
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
	for _, p := range parts {
		if id, ok := b.vocab[p]; ok {
			dst = append(dst, id)
		} else if b.known {
			dst = append(dst, b.unknown)
		}
	}
	return dst
}

// wordBytes bounds a word: joining takes the square of its length.
const wordBytes = 1 << 10

// byteLevelWords divides as the expression of GPT-2 does: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func byteLevelWords(s string, prefixSpace bool) []string {
	if prefixSpace && s != "" && s[0] != ' ' {
		s = " " + s
	}
	var out []string
	for s != "" {
		n := byteLevelWord(s)
		for w := s[:n]; w != ""; {
			k := min(len(w), wordBytes)
			out, w = append(out, w[:k]), w[k:]
		}
		s = s[n:]
	}
	return out
}

func byteLevelWord(s string) int {
	for _, c := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(s, c) {
			return len(c)
		}
	}
	skip := 0
	if s[0] == ' ' {
		skip = 1
	}
	if r, _ := utf8.DecodeRuneInString(s[skip:]); skip < len(s) && !unicode.IsSpace(r) {
		class := classOf(r)
		return skip + run(s[skip:], func(r rune) bool { return classOf(r) == class })
	}
	n := run(s, unicode.IsSpace)
	if n == len(s) {
		return n
	}
	// The last blank goes with what follows, if there are others.
	if _, last := utf8.DecodeLastRuneInString(s[:n]); n > last {
		return n - last
	}
	return n
}

func classOf(r rune) int {
	switch {
	case unicode.IsLetter(r):
		return 1
	case unicode.IsNumber(r):
		return 2
	case unicode.IsSpace(r):
		return 3
	}
	return 0
}

func run(s string, in func(rune) bool) int {
	for i, r := range s {
		if !in(r) {
			return i
		}
	}
	return len(s)
}
