package pipeline

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// at is the place of a node of a job file.
func at(n *yaml.Node) Pos { return Pos{Line: max(1, n.Line), Column: max(1, n.Column)} }

// placesOf says where the keys of a mapping are.
func placesOf(n *yaml.Node) places {
	out := places{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		out[n.Content[i].Value] = at(n.Content[i])
	}
	return out
}

// inside is the place of the text of a node, whose value became text when placeholders were filled.
func inside(n *yaml.Node, text string) Pos {
	pos := at(n)
	if n.Kind != yaml.ScalarNode || text != n.Value || strings.Contains(text, "\n") {
		return pos
	}
	switch {
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && !strings.ContainsAny(text, "'\"\\"):
		pos.Column++
		pos.text = text
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0:
		pos.text = text
	}
	return pos
}
