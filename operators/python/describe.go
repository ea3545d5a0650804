package python

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/codec"
	"github.com/sluice-data/sluice/dataset/coltype"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// about is what a class or function says of itself, as the host's describe gives it.
type about struct {
	Kind    string   `json:"kind"`
	Code    string   `json:"code"`
	Schema  any      `json:"schema"`
	Asks    bool     `json:"asks"` // schema is a function of the input
	Columns []string `json:"columns"`
	Random  bool     `json:"random"`
	Batch   int      `json:"batch"`
	Takes   string   `json:"takes"`
	bytes   int64    // what a process takes that has imported the module
}

// describe asks a short process. schema is that of the input, or nil.
func (s *spec) describe(schema *arrow.Schema) (*about, error) {
	python, err := interpreter(s.p.Venv)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.p.StartTimeout)
	defer cancel()
	msg := request{Op: "describe", Target: s.p.Target, Path: s.path()}
	if schema != nil {
		if msg.Schema, err = schemaText(schema); err != nil {
			return nil, err
		}
	}
	p, err := startProc(launch{python: python, target: s.p.Target})
	if err != nil {
		return nil, dataset.Usagef("start %s: %v", python, err)
	}
	defer p.end()
	var out struct {
		reply
		about
	}
	err = p.started(ctx)
	if err == nil {
		err = p.exchange(ctx, msg, &out)
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, dataset.Usagef("importing %s takes longer than start_timeout=%v", s.p.Target, s.p.StartTimeout)
		}
		return nil, &dataset.UsageError{Err: fmt.Errorf("import %s with %s: %w", s.p.Target, python, err)}
	}
	out.bytes, _ = child.MemoryOf(p.Pid)
	return &out.about, nil
}

// path lists the folders to import from.
func (s *spec) path() []string {
	if s.p.Path == nil {
		return []string{}
	}
	return s.p.Path
}

// schemaText is a schema as the host reads it: a whole IPC message in hexadecimal.
func schemaText(schema *arrow.Schema) (string, error) {
	meta, err := codec.EncodeSchema(schema)
	if err != nil {
		return "", err
	}
	for len(meta)%8 != 0 {
		meta = append(meta, 0)
	}
	head := []byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}
	binary.LittleEndian.PutUint32(head[4:], uint32(len(meta)))
	return hex.EncodeToString(append(head, meta...)), nil
}

// fieldsOf makes the columns of a schema attribute: text, or a list of {name, type} or {name, ipc}.
func fieldsOf(schema any) ([]arrow.Field, error) {
	switch s := schema.(type) {
	case string:
		return parseFields(s)
	case []any:
		out := []arrow.Field{}
		for _, item := range s {
			f, err := fieldOf(item)
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
		return out, nil
	}
	return nil, fmt.Errorf("schema: %T is not understood", schema)
}

func fieldOf(item any) (arrow.Field, error) {
	m, _ := item.(map[string]any)
	name, _ := m["name"].(string)
	f := arrow.Field{Name: name, Nullable: true}
	if t, ok := m["type"].(string); ok {
		var err error
		if f.Type, err = coltype.ParseType(t); err != nil {
			return f, fmt.Errorf("schema of column %q: %w", name, err)
		}
		return f, nil
	}
	text, _ := m["ipc"].(string)
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) < 8 {
		return f, fmt.Errorf("schema of column %q: it is no schema message", name)
	}
	s, err := codec.DecodeSchema(raw[8:])
	if err != nil || s.NumFields() != 1 {
		return f, fmt.Errorf("schema of column %q: %w", name, err)
	}
	f.Type = s.Field(0).Type
	return f, nil
}

// parseFields reads "score float64, tags list<string>".
func parseFields(text string) ([]arrow.Field, error) {
	cols, err := coltype.Parse(text)
	if err != nil {
		return nil, err
	}
	var out []arrow.Field
	for _, c := range cols {
		if len(c.Path) != 1 {
			return nil, fmt.Errorf("schema=%q: write struct<…> or list<…> for what is nested", text)
		}
		out = append(out, arrow.Field{Name: c.Path[0], Type: c.Type, Nullable: true})
	}
	return out, nil
}
