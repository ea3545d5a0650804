package token

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func (f *modelFile) build() (model, error) {
	if len(f.Vocab) == 0 {
		return nil, errors.New("its model has no vocabulary")
	}
	switch f.Type {
	case "WordPiece", "":
		unknown, ok := f.Vocab[f.Unknown]
		if !ok {
			return nil, fmt.Errorf("its vocabulary lacks the unknown token %q", f.Unknown)
		}
		w := &wordPiece{vocab: f.Vocab, prefix: f.Prefix, unknown: unknown, most: f.MaxChars}
		if w.most == 0 {
			w.most = 100
		}
		for v := range f.Vocab {
			w.longest = max(w.longest, len(v))
		}
		return w, nil
	case "BPE":
		return newBPE(f)
	}
	return nil, unsupported(f.Type)
}

func supported(model string) bool { return model == "" || model == "WordPiece" || model == "BPE" }

func unsupported(model string) error {
	return fmt.Errorf("its model is %q, which is not supported: WordPiece and byte-level BPE are", model)
}

// wordPiece takes the longest token that a word begins with, and goes on with the rest.
type wordPiece struct {
	vocab   map[string]int64
	prefix  string
	unknown int64
	most    int // characters
	longest int // bytes of a token
}

func (w *wordPiece) tokens(dst []int64, word string) []int64 {
	if utf8.RuneCountInString(word) > w.most {
		return append(dst, w.unknown)
	}
	from := len(dst)
	buf := make([]byte, 0, 64)
	for rest := word; rest != ""; {
		prefix := ""
		if rest != word || len(dst) > from {
			prefix = w.prefix
		}
		end := min(len(rest), w.longest)
		id, found := int64(0), false
		for ; end > 0; end-- {
			if end < len(rest) && !utf8.RuneStart(rest[end]) {
				continue
			}
			buf = append(append(buf[:0], prefix...), rest[:end]...)
			if id, found = w.vocab[string(buf)]; found {
				break
			}
		}
		if !found {
			return append(dst[:from], w.unknown)
		}
		dst = append(dst, id)
		rest = rest[end:]
	}
	return dst
}

// normalizer is BERT's.
type normalizer struct{ clean, chinese, accents, lower bool }

func (f *normalizerFile) build() (normalizer, error) {
	if f == nil {
		return normalizer{}, nil
	}
	switch f.Type {
	case "BertNormalizer":
		n := normalizer{clean: f.CleanText, chinese: f.HandleChineseChars, lower: f.Lowercase, accents: f.Lowercase}
		if f.StripAccents != nil {
			n.accents = *f.StripAccents
		}
		return n, nil
	case "Lowercase":
		return normalizer{lower: true}, nil
	}
	return normalizer{}, fmt.Errorf("normalizer %q is not supported", f.Type)
}

// longText bounds what of a text is looked at, by the tokens that are wanted: a token is no longer than that, blanks included, in any text that people write.
const longText = 256

// atMost is as much of the text as can matter for so many tokens.
func atMost(text string, tokens int) string {
	if tokens < len(text)/longText {
		text = strings.ToValidUTF8(text[:tokens*longText], "")
	}
	return text
}

// apply normalizes a text.
func (n normalizer) apply(text string) string {
	if n == (normalizer{}) {
		return text
	}
	if n.accents {
		text = norm.NFD.String(text)
	}
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case n.clean && (r == 0 || r == utf8.RuneError || control(r)):
			continue
		case n.clean && blank(r):
			r = ' '
		case n.accents && unicode.Is(unicode.Mn, r):
			continue
		}
		if n.lower {
			r = unicode.ToLower(r)
		}
		if n.chinese && chinese(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func blank(r rune) bool { return r == '\t' || r == '\n' || r == '\r' || unicode.IsSpace(r) }

func control(r rune) bool {
	return r != '\t' && r != '\n' && r != '\r' && (unicode.Is(unicode.C, r))
}

// chinese says whether BERT takes r for a word of its own.
func chinese(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F ||
		r >= 0x2B740 && r <= 0x2B81F || r >= 0x2B920 && r <= 0x2CEAF || r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}

func (k *kind) build(model string) (func(string) []string, error) {
	byteLevel := k != nil && k.Type == "ByteLevel" && (k.UseRegex == nil || *k.UseRegex)
	switch {
	case model == "BPE" && byteLevel:
		return func(s string) []string { return byteLevelWords(s, k.AddPrefixSpace) }, nil
	case model == "BPE":
		return nil, errors.New("BPE without the ByteLevel pre-tokenizer is not supported")
	case k == nil:
		return func(s string) []string { return []string{s} }, nil
	case k.Type == "BertPreTokenizer":
		return bertWords, nil
	case k.Type == "WhitespaceSplit":
		return strings.Fields, nil
	case k.Type == "Whitespace":
		return wordsAndMarks, nil
	}
	return nil, fmt.Errorf("pre-tokenizer %q is not supported", k.Type)
}

// wordsAndMarks divides as the expression \w+|[^\w\s]+ does.
func wordsAndMarks(s string) []string {
	var out []string
	for s != "" {
		r, _ := utf8.DecodeRuneInString(s)
		class := wordClass(r)
		n := run(s, func(r rune) bool { return wordClass(r) == class })
		if class != blankClass {
			out = append(out, s[:n])
		}
		s = s[n:]
	}
	return out
}

const (
	markClass = iota
	letterClass
	blankClass
)

// wordClass tells letters, in the sense of regular expressions on Unicode, from blanks and from what is neither.
func wordClass(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return blankClass
	case unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control):
		return letterClass
	}
	return markClass
}

// bertWords divides at blanks and around punctuation.
func bertWords(s string) []string {
	var out []string
	start := -1
	flush := func(end int) {
		if start >= 0 {
			out = append(out, s[start:end])
			start = -1
		}
	}
	for i, r := range s {
		switch {
		case unicode.IsSpace(r):
			flush(i)
		case punctuation(r):
			flush(i)
			out = append(out, s[i:i+utf8.RuneLen(r)])
		case start < 0:
			start = i
		}
	}
	flush(len(s))
	return out
}

func punctuation(r rune) bool {
	return r >= 33 && r <= 47 || r >= 58 && r <= 64 || r >= 91 && r <= 96 || r >= 123 && r <= 126 || unicode.IsPunct(r)
}
