package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Tokenizer turns texts into token numbers. It is safe for concurrent use.
type Tokenizer struct {
	model     model
	normal    normalizer
	early     added // tokens that are found in the text
	late      added // in the normalized text
	split     func(string) []string
	before    []int64 // special tokens around a text
	after     []int64
	PadID     int64
	MaxTokens int // of the file; 0 if it says nothing
}

// model divides one word.
type model interface {
	tokens(dst []int64, word string) []int64
}

// maxFile bounds a tokenizer file.
const maxFile = 256 << 20

// Load reads a tokenizer.json.
func Load(path string) (*Tokenizer, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer: %w", err)
	}
	if st.Size() > maxFile {
		return nil, fmt.Errorf("read tokenizer %s: it has %d bytes, above the limit of %d", path, st.Size(), maxFile)
	}
	data, err := os.ReadFile(path) //nolint:gosec // a file that the card names
	if err != nil {
		return nil, fmt.Errorf("read tokenizer: %w", err)
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer %s: %w", path, err)
	}
	return t, nil
}

// file is the parts of tokenizer.json that are read.
type file struct {
	Truncation *struct {
		MaxLength int `json:"max_length"`
	} `json:"truncation"`
	Padding *struct {
		PadID int64 `json:"pad_id"`
	} `json:"padding"`
	AddedTokens   []addedFile     `json:"added_tokens"`
	Normalizer    *normalizerFile `json:"normalizer"`
	PreTokenizer  *kind           `json:"pre_tokenizer"`
	PostProcessor *processorFile  `json:"post_processor"`
	Model         modelFile       `json:"model"`
}

type kind struct {
	Type           string `json:"type"`
	AddPrefixSpace bool   `json:"add_prefix_space"`
	UseRegex       *bool  `json:"use_regex"`
}

type normalizerFile struct {
	Type               string `json:"type"`
	CleanText          bool   `json:"clean_text"`
	HandleChineseChars bool   `json:"handle_chinese_chars"`
	StripAccents       *bool  `json:"strip_accents"`
	Lowercase          bool   `json:"lowercase"`
}

type modelFile struct {
	Type     string           `json:"type"`
	Vocab    map[string]int64 `json:"vocab"`
	Unknown  string           `json:"unk_token"`
	Prefix   string           `json:"continuing_subword_prefix"`
	MaxChars int              `json:"max_input_chars_per_word"`
	Merges   []merge          `json:"merges"`

	// What other kinds of BPE have.
	Dropout      float64 `json:"dropout"`
	Suffix       string  `json:"end_of_word_suffix"`
	ByteFallback bool    `json:"byte_fallback"`
	IgnoreMerges bool    `json:"ignore_merges"`
}

// merge is a pair of tokens; old files write it as one text with a blank.
type merge [2]string

// UnmarshalJSON implements json.Unmarshaler.
func (m *merge) UnmarshalJSON(p []byte) error {
	if len(p) > 0 && p[0] == '[' {
		var pair []string
		if err := json.Unmarshal(p, &pair); err != nil {
			return err
		}
		if len(pair) != 2 {
			return fmt.Errorf("a merge has %d parts", len(pair))
		}
		*m = merge{pair[0], pair[1]}
		return nil
	}
	var s string
	if err := json.Unmarshal(p, &s); err != nil {
		return err
	}
	a, b, ok := strings.Cut(s, " ")
	if !ok {
		return fmt.Errorf("merge %q has one part", s)
	}
	*m = merge{a, b}
	return nil
}

type processorFile struct {
	Type   string `json:"type"`
	Single []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
		Sequence *struct {
			ID string `json:"id"`
		} `json:"Sequence"`
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int64 `json:"ids"`
	} `json:"special_tokens"`
	Cls []json.RawMessage `json:"cls"`
	Sep []json.RawMessage `json:"sep"`
}

// Parse reads the contents of a tokenizer.json.
func Parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		// The vocabulary of another kind of model may have another form: the kind is what is to be told.
		var k struct{ Model kind }
		if json.Unmarshal(data, &k) == nil && !supported(k.Model.Type) {
			return nil, unsupported(k.Model.Type)
		}
		return nil, err
	}
	if !supported(f.Model.Type) {
		return nil, unsupported(f.Model.Type)
	}
	t := &Tokenizer{}
	if f.Truncation != nil {
		t.MaxTokens = f.Truncation.MaxLength
	}
	if f.Padding != nil {
		t.PadID = f.Padding.PadID
	}
	var err error
	if t.model, err = f.Model.build(); err != nil {
		return nil, err
	}
	if t.normal, err = f.Normalizer.build(); err != nil {
		return nil, err
	}
	if t.split, err = f.PreTokenizer.build(f.Model.Type); err != nil {
		return nil, err
	}
	t.finders(f.AddedTokens, f.Model.Vocab)
	if f.PostProcessor != nil {
		if err := t.frame(f.PostProcessor); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// frame finds the special tokens before and after a text.
func (t *Tokenizer) frame(p *processorFile) error {
	switch p.Type {
	case "TemplateProcessing":
		seen := false
		for _, s := range p.Single {
			switch {
			case s.Sequence != nil:
				seen = true
			case s.SpecialToken != nil:
				ids, ok := p.SpecialTokens[s.SpecialToken.ID]
				if !ok {
					return fmt.Errorf("special token %q is not described", s.SpecialToken.ID)
				}
				if seen {
					t.after = append(t.after, ids.IDs...)
				} else {
					t.before = append(t.before, ids.IDs...)
				}
			}
		}
	case "BertProcessing", "RobertaProcessing":
		for _, x := range []struct {
			raw []json.RawMessage
			to  *[]int64
		}{{p.Cls, &t.before}, {p.Sep, &t.after}} {
			var id int64
			if len(x.raw) != 2 || json.Unmarshal(x.raw[1], &id) != nil {
				return errors.New("its post processor has no cls or sep token")
			}
			*x.to = []int64{id}
		}
	case "ByteLevel":
	default:
		return fmt.Errorf("post processor %q is not supported", p.Type)
	}
	return nil
}

// Encode appends the tokens of a text to dst, at most limit of them, special ones included; 0 means no limit. Special and added tokens that the text has, as in
// "Paris is the [MASK] of France.", are those tokens, as in the library.
func (t *Tokenizer) Encode(dst []int64, text string, limit int) []int64 {
	from := len(dst)
	dst = append(dst, t.before...)
	room := int(^uint(0) >> 1)
	if limit > 0 {
		room = max(0, limit-len(t.before)-len(t.after))
	}
	body := len(dst)
	special := func(id int64) bool {
		dst = append(dst, id)
		return len(dst)-body < room
	}
	words := func(s string) bool {
		for _, w := range t.split(s) {
			dst = t.model.tokens(dst, w)
			if len(dst)-body >= room {
				return false
			}
		}
		return true
	}
	t.early.divide(atMost(text, room), func(s string) bool { return t.late.divide(t.normal.apply(s), words, special) }, special)
	if len(dst)-body > room {
		dst = dst[:body+room]
	}
	dst = append(dst, t.after...)
	if limit > 0 && len(dst)-from > limit {
		dst = dst[:from+limit]
	}
	return dst
}
