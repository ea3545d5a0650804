package token

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// want is what the tokenizers library of Hugging Face makes of a text.
type want struct {
	Text                   string
	WordPiece, BPE, MiniLM []int64
}

func expected(t *testing.T) []want {
	t.Helper()
	data, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []want
	if err := json.Unmarshal(data, &out); err != nil || len(out) < 10 {
		t.Fatal(len(out), err)
	}
	return out
}

func TestTokensAreThoseOfTheLibrary(t *testing.T) {
	wp, err := Load("testdata/wordpiece.json")
	if err != nil {
		t.Fatal(err)
	}
	bp, err := Load("testdata/bpe.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range expected(t) {
		if got := wp.Encode(nil, c.Text, wp.MaxTokens); !slices.Equal(got, c.WordPiece) {
			t.Errorf("WordPiece of %q is %v, want %v", c.Text, got, c.WordPiece)
		}
		if got := bp.Encode([]int64{}, c.Text, 0); !slices.Equal(got, c.BPE) {
			t.Errorf("BPE of %q is %v, want %v", c.Text, got, c.BPE)
		}
	}
}

// TestSpecialTokens compares what becomes of special and added tokens in texts with what the library gives (testdata/special.py).
func TestSpecialTokens(t *testing.T) {
	data, err := os.ReadFile("testdata/special.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		File   string
		Added  []any
		Prefix bool `json:"prefix_space"`
		Texts  []struct {
			Text string
			IDs  []int64
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) != 5 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		name := "testdata/" + c.File
		if c.File == "minilm" {
			name = modelsFolder() + "/minilm.tokenizer.json"
		}
		data, err := os.ReadFile(name)
		if err != nil && c.File == "minilm" && os.Getenv("SLUICE_REQUIRE_MODELS") == "" {
			t.Log("make models fetches the vocabulary: ", err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var file map[string]any
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		have, _ := file["added_tokens"].([]any)
		file["added_tokens"] = append(have, c.Added...)
		if c.Prefix {
			file["pre_tokenizer"].(map[string]any)["add_prefix_space"] = true
		}
		if data, err = json.Marshal(file); err != nil {
			t.Fatal(err)
		}
		tok, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range c.Texts {
			if got := tok.Encode([]int64{}, x.Text, tok.MaxTokens); !slices.Equal(got, x.IDs) {
				t.Errorf("%s with %d added: tokens of %q are %v, want %v", c.File, len(c.Added), x.Text, got, x.IDs)
			}
		}
	}
}

func modelsFolder() string {
	if dir := os.Getenv("SLUICE_MODELS"); dir != "" {
		return dir
	}
	return "../../../../.cache/models"
}

// TestMiniLM compares with the real vocabulary, where make models has put it.
func TestMiniLM(t *testing.T) {
	tok, err := Load(modelsFolder() + "/minilm.tokenizer.json")
	if err != nil {
		if os.Getenv("SLUICE_REQUIRE_MODELS") != "" {
			t.Fatal(err)
		}
		t.Skip("make models fetches the vocabulary: ", err)
	}
	for _, c := range expected(t) {
		if got := tok.Encode(nil, c.Text, 256); !slices.Equal(got, c.MiniLM) {
			t.Errorf("tokens of %q are %v, want %v", c.Text, got, c.MiniLM)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{`, "unexpected end of JSON input"},
		{`{}`, "its model has no vocabulary"},
		{`{"model":{"type":"Unigram","vocab":{"a":1}}}`, `its model is "Unigram", which is not supported: WordPiece and byte-level BPE are`},
		{`{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1.5]]}}`, `its model is "Unigram", which is not supported: WordPiece and byte-level BPE are`},
		{`{"model":{"type":"WordLevel","vocab":{"a":1}}}`, `its model is "WordLevel", which is not supported`},
		{`{"model":{"type":"BPE","vocab":{"a":1},"byte_fallback":true},"pre_tokenizer":{"type":"ByteLevel"}}`, "its BPE has byte_fallback, which is not supported"},
		{`{"model":{"type":"BPE","vocab":{"a":1},"end_of_word_suffix":"</w>"},"pre_tokenizer":{"type":"ByteLevel"}}`, "its BPE has end_of_word_suffix, which is not supported"},
		{`{"model":{"type":"BPE","vocab":{"a":1}},"pre_tokenizer":{"type":"Whitespace"}}`, "BPE without the ByteLevel pre-tokenizer is not supported"},
		{`{"model":{"type":"WordPiece","vocab":{"a":1},"unk_token":"a"},"pre_tokenizer":{"type":"ByteLevel"}}`, `pre-tokenizer "ByteLevel" is not supported`},
		{`{"model":{"type":"WordPiece","vocab":{"a":1},"unk_token":"?"}}`, `its vocabulary lacks the unknown token "?"`},
		{`{"model":{"type":"BPE","vocab":{"a":1}}}`, "BPE without the ByteLevel pre-tokenizer is not supported"},
		{`{"normalizer":{"type":"NFKC"},"model":{"type":"WordPiece","vocab":{"a":1},"unk_token":"a"}}`, `normalizer "NFKC" is not supported`},
		{`{"pre_tokenizer":{"type":"Metaspace"},"model":{"type":"WordPiece","vocab":{"a":1},"unk_token":"a"}}`, `pre-tokenizer "Metaspace" is not supported`},
		{`{"post_processor":{"type":"X"},"model":{"type":"WordPiece","vocab":{"a":1},"unk_token":"a"}}`, `post processor "X" is not supported`},
		{`{"model":{"type":"BPE","vocab":{"a":1},"merges":["ab"]}}`, `merge "ab" has one part`},
	} {
		if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %s", c.text, err, c.want)
		}
	}
}

// TestWordsAndMarks compares with what the library's Whitespace pre-tokenizer gives.
func TestWordsAndMarks(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          nil,
		" \t":                       nil,
		"Hello, world!! (a_b-c)":    {"Hello", ",", "world", "!!", "(", "a_b", "-", "c", ")"},
		"naïve caf\u0065\u0301 3½€": {"naïve", "caf\u0065\u0301", "3", "½€"},
		"数据 引擎。":                    {"数据", "引擎", "。"},
	} {
		if got := wordsAndMarks(text); !slices.Equal(got, want) {
			t.Errorf("%q is divided into %q, want %q", text, got, want)
		}
	}
}

// FuzzEncode: any text and any limit give at most so many tokens, and no panic.
func FuzzEncode(f *testing.F) {
	wp, err := Load("testdata/wordpiece.json")
	if err != nil {
		f.Fatal(err)
	}
	bp, err := Load("testdata/bpe.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("hello wörld\x00", 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		for _, tok := range []*Tokenizer{wp, bp} {
			if got := tok.Encode(nil, text, max(1, limit%1000)); len(got) > max(1, limit%1000) {
				t.Errorf("%d tokens of %q for a limit of %d", len(got), text, limit%1000)
			}
		}
	})
}

// FuzzParse: any bytes are a tokenizer or an error.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"wordpiece", "bpe"} {
		data, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		if tok, err := Parse(data); err == nil {
			tok.Encode(nil, "The quick brown fox, don't", 10)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	wp, err := Load("testdata/wordpiece.json")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var ids []int64
	for b.Loop() {
		ids = wp.Encode(ids[:0], text, 0)
	}
}
