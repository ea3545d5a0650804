package dataset

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// How a parameter is given, as the tag arg says.
const (
	argOption = ""     // key=value only
	argWord   = "word" // the next word
	argRest   = "rest" // all text that is left
	argList   = "list" // all text that is left, divided at commas
)

// param is one settable field of a parameter struct.
type param struct {
	name string
	arg  string
	doc  string
	v    reflect.Value
	set  bool
}

// ParseArgs fills the parameter struct that params points to from the text that follows a step's name in a pipeline string. Fields
// are described at Def.Zero: those with arg:"word" take words in order, one with arg:"rest" or arg:"list" takes what is left, and all
// may be given as key=value. Before a rest, only options that the struct has are taken for options; after a list, options follow the last
// item. A word field that is a slice takes all words that are left. Mistakes are *SyntaxError.
func ParseArgs(text string, params any) error {
	fields, err := paramsOf(params)
	if err != nil {
		return err
	}
	p := argParser{text: text, fields: fields}
	for {
		w, err := nextWord(text, p.at)
		if err != nil {
			if f := p.next(argRest); f != nil && !p.wordLeft() { // the rest has a syntax of its own
				return p.takeRest(f)
			}
			return err
		}
		if w.Text == "" {
			return nil
		}
		done, err := p.take(w)
		if err != nil || done {
			return err
		}
	}
}

// argParser walks through the text of ParseArgs.
type argParser struct {
	text   string
	at     int
	fields []*param
}

// next finds the first positional field of a kind that is not set.
func (p *argParser) next(kind string) *param {
	for _, f := range p.fields {
		if f.arg == kind && !f.set {
			return f
		}
	}
	return nil
}

func (p *argParser) wordLeft() bool { return p.next(argWord) != nil }

// take consumes one word, or all that is left (done).
func (p *argParser) take(w Word) (done bool, err error) {
	word, rest, list := p.next(argWord), p.next(argRest), p.next(argList)
	if key, value, ok := w.Option(); ok {
		f := findParam(p.fields, key)
		if f != nil || rest == nil {
			p.at = w.End()
			return false, p.option(f, key, value, w)
		}
	}
	switch {
	case word != nil && word.v.Kind() == reflect.Slice && word.v.Type().Elem().Kind() != reflect.Uint8:
		return true, p.takeWords(word)
	case word != nil:
		p.at = w.End()
		return false, p.assign(word, w, setText(word.v, w.Text, false))
	case rest != nil:
		return true, p.takeRest(rest)
	case list != nil:
		return true, p.takeList(list)
	case w.Text == "=":
		return false, syntaxf(w.Offset, "write options without spaces around the = sign: key=value")
	}
	return false, syntaxf(w.Offset, "unexpected %s%s", clip(w.Text), p.expected())
}

func (p *argParser) option(f *param, key string, value, w Word) error {
	if f == nil {
		return syntaxf(w.Offset, "unknown option %q%s", key, p.near(key))
	}
	if f.set {
		return syntaxf(w.Offset, "%s is given twice", key)
	}
	return p.assign(f, value, setText(f.v, value.Text, false))
}

// assign marks a field as set, and gives a failure its place and name.
func (p *argParser) assign(f *param, w Word, err error) error {
	f.set = true
	if err == nil {
		return nil
	}
	e := atWord(w, err).(*SyntaxError) //nolint // atWord always makes one
	e.Msg = f.name + ": " + e.Msg
	return e
}

func (p *argParser) takeRest(f *param) error {
	w := trimmed(p.text, p.at, len(p.text))
	p.at = len(p.text)
	return p.assign(f, w, setText(f.v, w.Text, true))
}

// takeWords gives all words that are left to a slice, except options.
func (p *argParser) takeWords(f *param) error {
	words, err := Words(p.text[p.at:])
	if err != nil {
		return shift(err, p.at)
	}
	var items []Word
	for _, w := range words {
		w.Offset += p.at
		if key, value, ok := w.Option(); ok {
			if err := p.option(findParam(p.fields, key), key, value, w); err != nil {
				return err
			}
			continue
		}
		items = append(items, w)
	}
	return p.assign(f, Word{}, setItems(f.v, items))
}

// takeList gives all items that are left to a slice. Options follow the last item.
func (p *argParser) takeList(f *param) error {
	items, err := Items(p.text[p.at:])
	if err != nil {
		return shift(err, p.at)
	}
	for i := range items {
		items[i].Offset += p.at
		words, err := Words(items[i].Text)
		if err != nil {
			return shift(err, items[i].Offset)
		}
		cut := -1
		for _, w := range words {
			w.Offset += items[i].Offset
			key, value, ok := w.Option()
			switch {
			case !ok && cut >= 0:
				return syntaxf(w.Offset, "unexpected %s: options follow the last item", clip(w.Text))
			case !ok:
				continue
			case i < len(items)-1:
				return syntaxf(w.Offset, "option %s: options follow the last item", key)
			case cut < 0:
				cut = w.Offset - items[i].Offset
			}
			if err := p.option(findParam(p.fields, key), key, value, w); err != nil {
				return err
			}
		}
		if cut >= 0 {
			items[i].Text = trimmed(items[i].Text, 0, cut).Text
		}
	}
	if last := len(items) - 1; items[last].Text == "" {
		return syntaxf(items[last].Offset, "an item is missing after the comma")
	}
	return p.assign(f, Word{}, setItems(f.v, items))
}

// expected tells what the step takes, for messages.
func (p *argParser) expected() string {
	var pos, opts []string
	for _, f := range p.fields {
		if f.arg == argOption {
			opts = append(opts, f.name+"=")
		} else {
			pos = append(pos, f.name)
		}
	}
	switch {
	case len(pos)+len(opts) == 0:
		return ": it takes no arguments"
	case len(opts) == 0:
		return ": it takes " + strings.Join(pos, ", ")
	case len(pos) == 0:
		return ": it takes the options " + strings.Join(opts, ", ")
	}
	return fmt.Sprintf(": it takes %s and the options %s", strings.Join(pos, ", "), strings.Join(opts, ", "))
}

func (p *argParser) near(key string) string { return nearParam(p.fields, key) }

func nearParam(fields []*param, key string) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if near := DidYouMean(key, slices.Clone(names)); near != "" {
		return near
	}
	if len(names) == 0 {
		return "; there are no options"
	}
	return "; there are " + nameList(names)
}

func findParam(fields []*param, name string) *param {
	for _, f := range fields {
		if f.name == name || strings.ReplaceAll(f.name, "_", "-") == name {
			return f
		}
	}
	return nil
}

// ErrUnknownOption is the cause of an error about the name of an option, not about its value.
var ErrUnknownOption = errors.New("unknown option")

// SetOption sets one parameter by name from text as typed after key=. Mistakes are *SyntaxError with the offset within value.
func SetOption(params any, key, value string) error {
	fields, err := paramsOf(params)
	if err != nil {
		return err
	}
	f := findParam(fields, key)
	if f == nil {
		e := syntaxf(0, "unknown option %q%s", key, nearParam(fields, key))
		e.Err = ErrUnknownOption
		return e
	}
	p := argParser{fields: fields}
	return p.assign(f, Word{Text: value}, setText(f.v, value, false))
}

// paramsOf lists the settable fields of the struct that params points to, those of embedded structs in their place.
func paramsOf(params any) ([]*param, error) {
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("read parameters: they are %T, want a pointer to a struct", params)
	}
	return appendParams(nil, v.Elem()), nil
}

func appendParams(out []*param, v reflect.Value) []*param {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct {
			out = appendParams(out, v.Field(i))
			continue
		}
		if !sf.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = snake(sf.Name)
		}
		out = append(out, &param{name: name, arg: sf.Tag.Get("arg"), doc: sf.Tag.Get("doc"), v: v.Field(i)})
	}
	return out
}

// snake turns MaxRows into max_rows.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 && (s[i-1] < 'A' || s[i-1] > 'Z' || i+1 < len(s) && s[i+1] >= 'a' && s[i+1] <= 'z') {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}
