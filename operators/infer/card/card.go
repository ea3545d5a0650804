package card

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/zeebo/blake3"
	"go.yaml.in/yaml/v3"
)

// Version is the version of the schema.
const Version = 1

// maxBytes bounds a card.
const maxBytes = 1 << 20

// Card describes a model.
type Card struct {
	Schema    int      `yaml:"card"`
	Name      string   `yaml:"name"`
	About     string   `yaml:"about"`
	Licence   string   `yaml:"licence"`
	Model     string   `yaml:"model"` // file of the model, for onnx:NAME
	Batch     int      `yaml:"batch"` // rows a request, at most
	Inputs    []Input  `yaml:"inputs"`
	Outputs   []Output `yaml:"outputs"`
	Default   []string `yaml:"default"`   // outputs that are made when none is named; none means all
	Embedding string   `yaml:"embedding"` // output that embed takes

	Source string `yaml:"-"` // where the card was read: a file, or "built in"
	Digest string `yaml:"-"` // names its contents
	dir    string // that files it names may lie in; empty for built-in cards
}

// Input is one input of the model. Exactly one of the ways is set.
type Input struct {
	Tensor   string    `yaml:"tensor"`
	Column   string    `yaml:"column"` // default; a step may name another
	Image    *Image    `yaml:"image"`
	Text     *Text     `yaml:"text"`
	Bytes    *Bytes    `yaml:"bytes"`
	Audio    *Audio    `yaml:"audio"`
	Constant *Constant `yaml:"constant"`
	Raw      bool      `yaml:"raw"` // the column as it is
}

// Image makes a tensor of a picture.
type Image struct {
	Width    int       `yaml:"width"`
	Height   int       `yaml:"height"`
	Fit      string    `yaml:"fit"`      // exact, fill, height, limit
	Share    float64   `yaml:"share"`    // of fill
	Multiple int       `yaml:"multiple"` // of height and limit
	Layout   string    `yaml:"layout"`   // nchw (default) or nhwc
	Colours  string    `yaml:"colours"`  // rgb (default), bgr, grey
	Mean     []float32 `yaml:"mean"`     // in grey levels 0 to 255
	Std      []float32 `yaml:"std"`
}

// Text makes tokens of a text.
type Text struct {
	Tokenizer string `yaml:"tokenizer"` // a tokenizer.json
	MaxTokens int    `yaml:"max_tokens"`
	Mask      string `yaml:"mask"`  // input for 1 where there is a token
	Types     string `yaml:"types"` // input for 0 everywhere
}

// Bytes takes the first and last bytes of a file.
type Bytes struct {
	Head  int `yaml:"head"`
	Tail  int `yaml:"tail"`
	Pad   int `yaml:"pad"`
	Block int `yaml:"block"`
	Least int `yaml:"least"` // files with less to look at have null answers
}

// Audio makes windows of a WAV file.
type Audio struct {
	Rate    int `yaml:"rate"`
	Window  int `yaml:"window"`
	Context int `yaml:"context"`
}

// Constant is one number in all places.
type Constant struct {
	Value float64 `yaml:"value"`
	Shape []int64 `yaml:"shape"`
}

// Output is one column. Exactly one of the ways is set.
type Output struct {
	Column   string    `yaml:"column"`
	Tensor   string    `yaml:"tensor"`
	Label    *Class    `yaml:"label"`
	Score    *Class    `yaml:"score"`
	Index    *Class    `yaml:"index"`
	Top      *Class    `yaml:"top"`
	Values   *Values   `yaml:"values"`
	CTC      *CTC      `yaml:"ctc"`
	Regions  *Regions  `yaml:"regions"`
	Detect   *Detect   `yaml:"detect"`
	Segments *Segments `yaml:"segments"`
}

// Labels says where names of classes are: exactly one of the three.
type Labels struct {
	File string   `yaml:"file"` // one a line
	Meta string   `yaml:"meta"` // key of the model's metadata, one a line
	List []string `yaml:"list"`
}

// Class is the best of the classes.
type Class struct {
	Apply  string  `yaml:"apply"` // softmax, sigmoid, or nothing
	Labels *Labels `yaml:"labels"`
	K      int     `yaml:"k"`
	Least  float32 `yaml:"least"`
}

// Values is the tensor itself.
type Values struct {
	Type      string  `yaml:"type"`  // as FP32; with shape, of a row, the model need not be asked for the column's type
	Shape     []int64 `yaml:"shape"` // -1 is any
	Apply     string  `yaml:"apply"`
	Normalize bool    `yaml:"normalize"`
	Text      bool    `yaml:"text"` // BYTES that are UTF-8
}

// CTC reads letters.
type CTC struct {
	Alphabet   Labels `yaml:"alphabet"`
	Confidence bool   `yaml:"confidence"`
}

// Regions finds boxes in a map.
type Regions struct {
	Threshold    float32 `yaml:"threshold"`
	BoxThreshold float32 `yaml:"box_threshold"`
	Grow         float64 `yaml:"grow"`
	Least        int     `yaml:"least"`
}

// Detect picks boxes out of many.
type Detect struct {
	Scores  string  `yaml:"scores"` // tensor of class scores; tensor is that of the boxes
	Form    string  `yaml:"form"`   // xyxy or cxcywh
	Labels  *Labels `yaml:"labels"`
	Least   float32 `yaml:"least"`
	Overlap float64 `yaml:"overlap"`
	Most    int     `yaml:"most"`
}

// Segments finds stretches of time.
type Segments struct {
	Seconds    float64 `yaml:"seconds"` // of a window
	Threshold  float32 `yaml:"threshold"`
	MinSpeech  float64 `yaml:"min_speech"`
	MinSilence float64 `yaml:"min_silence"`
}

// Parse reads a card, strictly: what the schema does not have is an error that names its line.
func Parse(data []byte) (*Card, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("it has %d bytes, above the limit of %d", len(data), maxBytes)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var c Card
	if err := dec.Decode(&c); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		return nil, tidy(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one document")
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	sum := blake3.Sum256(data)
	c.Digest = hex.EncodeToString(sum[:8])
	return &c, nil
}

// goType is how the decoder names our types.
var goType = regexp.MustCompile(` in type card\.\w+| into card\.\w+`)

// tidy leaves the names of Go types out.
func tidy(err error) error {
	return errors.New(goType.ReplaceAllString(err.Error(), ""))
}

func (c *Card) validate() error {
	switch {
	case c.Schema == 0:
		return fmt.Errorf("it does not say which version of the schema it is: begin it with card: %d", Version)
	case c.Schema != Version:
		return fmt.Errorf("it is version %d of the schema, this program reads %d", c.Schema, Version)
	case c.Name == "":
		return errors.New("it has no name")
	case len(c.Inputs) == 0 || len(c.Outputs) == 0:
		return errors.New("it needs inputs and outputs")
	case c.Batch < 0:
		return fmt.Errorf("batch %d is negative", c.Batch)
	}
	for i := range c.Inputs {
		if err := c.Inputs[i].validate(); err != nil {
			return fmt.Errorf("input %d: %w", i+1, err)
		}
	}
	var names []string
	for i := range c.Outputs {
		if err := c.Outputs[i].validate(); err != nil {
			return fmt.Errorf("output %d: %w", i+1, err)
		}
		if slices.Contains(names, c.Outputs[i].Column) {
			return fmt.Errorf("two outputs are column %q", c.Outputs[i].Column)
		}
		names = append(names, c.Outputs[i].Column)
	}
	for _, d := range append(slices.Clone(c.Default), c.Embedding) {
		if d != "" && !slices.Contains(names, d) {
			return fmt.Errorf("there is no output %q, which default or embedding names", d)
		}
	}
	return nil
}

func count(set ...bool) (n int) {
	for _, s := range set {
		if s {
			n++
		}
	}
	return n
}

func (in *Input) validate() error {
	if n := count(in.Image != nil, in.Text != nil, in.Bytes != nil, in.Audio != nil, in.Constant != nil, in.Raw); n != 1 {
		return fmt.Errorf("it has %d of image, text, bytes, audio, constant and raw; one says how it is made", n)
	}
	if in.Constant == nil && in.Column == "" {
		return errors.New("it names no column")
	}
	switch {
	case in.Image != nil:
		if !slices.Contains([]string{"", "nchw", "nhwc"}, in.Image.Layout) {
			return fmt.Errorf("layout %q is neither nchw nor nhwc", in.Image.Layout)
		}
		if !slices.Contains([]string{"", "rgb", "bgr", "grey"}, in.Image.Colours) {
			return fmt.Errorf("colours %q are none of rgb, bgr, grey", in.Image.Colours)
		}
	case in.Text != nil && (in.Text.Tokenizer == "" || in.Text.MaxTokens < 0 || in.Tensor == ""):
		return errors.New("text needs a tensor, a tokenizer and a max_tokens that is not negative")
	case in.Bytes != nil:
		if b := in.Bytes; b.Head < 0 || b.Tail < 0 || b.Head+b.Tail == 0 || b.Head+b.Tail > 1<<24 || b.Block < 0 || b.Least < 0 {
			return fmt.Errorf("head %d, tail %d, block %d and least %d must be sizes, head and tail not both 0", b.Head, b.Tail, b.Block, b.Least)
		}
	case in.Audio != nil:
		if a := in.Audio; a.Rate < 1 || a.Window < 1 || a.Context < 0 || a.Window+a.Context > 1<<24 {
			return fmt.Errorf("rate %d and window %d must be above 0, context %d not negative", a.Rate, a.Window, a.Context)
		}
	}
	return nil
}

func (o *Output) validate() error {
	if n := count(o.Label != nil, o.Score != nil, o.Index != nil, o.Top != nil, o.Values != nil, o.CTC != nil, o.Regions != nil, o.Detect != nil, o.Segments != nil); n != 1 {
		return fmt.Errorf("it has %d of label, score, index, top, values, ctc, regions, detect and segments; one says how it is made", n)
	}
	if o.Column == "" {
		return errors.New("it names no column")
	}
	for _, c := range []*Class{o.Label, o.Score, o.Index, o.Top} {
		if c == nil {
			continue
		}
		if (o.Label != nil || o.Top != nil) && c.Labels == nil {
			return errors.New("it needs labels")
		}
		if err := errors.Join(knownApply(c.Apply), c.Labels.validate()); err != nil {
			return err
		}
		if c.K < 0 || o.Top != nil && c.K == 0 {
			return fmt.Errorf("k is %d; top needs how many classes it shall have", c.K)
		}
	}
	switch {
	case o.Values != nil:
		if (o.Values.Type == "") != (o.Values.Shape == nil) {
			return errors.New("values need both type and shape, or neither")
		}
		return knownApply(o.Values.Apply)
	case o.CTC != nil:
		return o.CTC.Alphabet.validate()
	case o.Detect != nil:
		if o.Detect.Labels == nil || o.Detect.Scores == "" || !slices.Contains([]string{"xyxy", "cxcywh"}, o.Detect.Form) {
			return errors.New("detect needs labels, the tensor of scores, and the form of boxes: xyxy or cxcywh")
		}
		return o.Detect.Labels.validate()
	case o.Segments != nil && o.Segments.Seconds <= 0:
		return errors.New("segments need the seconds of a window")
	}
	return nil
}

func knownApply(s string) error {
	if !slices.Contains([]string{"", "softmax", "sigmoid"}, s) {
		return fmt.Errorf("apply %q is neither softmax nor sigmoid", s)
	}
	return nil
}

func (l *Labels) validate() error {
	if l == nil {
		return nil
	}
	if n := count(l.File != "", l.Meta != "", l.List != nil); n != 1 {
		return fmt.Errorf("labels have %d of file, meta and list; one says where they are", n)
	}
	return nil
}
