package expr

import (
	"fmt"

	"github.com/expr-lang/expr/parser/lexer"
)

// Limits of a source text. They keep the recursive parser and every walk of the tree within a few hundred
// frames, and the work for hostile input linear.
const (
	maxSource = 64 << 10 // bytes
	maxDepth  = 200      // nesting of brackets, signs, conditionals and calls
	maxNodes  = 64 << 10 // chained comparisons share operands, so a tree can be larger than its text

	maxText     = 1 << 30 // bytes of a text that a function builds for one row
	maxConstant = 1 << 20 // bytes of a text that a constant part builds when the plan is made
)

// tooLong is the error of a function that would build an oversized text.
func (c *evalCtx) tooLong(name string, size int) error {
	return fmt.Errorf("%s would build a text of %d bytes, the limit is %d", name, size, c.limit)
}

// checkNesting bounds how deep the parser will recurse on tokens: one level for every open bracket, every sign in
// a row of signs, and every right-nested operator (? and the power) since the bracket or comma before it.
func checkNesting(tokens []lexer.Token, byteAt func(int) int) error {
	type frame struct{ base, right int }
	stack := []frame{{}}
	run := 0
	for i, t := range tokens {
		top := &stack[len(stack)-1]
		switch {
		case t.Is(lexer.Bracket, "(", "[", "{"):
			stack = append(stack, frame{base: top.base + top.right + run + 1})
			run = 0
		case t.Is(lexer.Bracket):
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
			run = 0
		case t.Is(lexer.Operator, ","):
			top.right, run = 0, 0
		case t.Is(lexer.Operator, "?", "**", "^"):
			top.right++
			run = 0
		case t.Is(lexer.Operator, "-", "+", "!", "not") && !endsOperand(tokens, i-1):
			run++
		default:
			run = 0
		}
		if top = &stack[len(stack)-1]; top.base+top.right+run > maxDepth {
			return &SyntaxError{Offset: byteAt(t.From), Msg: tooDeep()}
		}
	}
	return nil
}

func tooDeep() string {
	return fmt.Sprintf("the expression nests deeper than %d levels; split it over several `with` steps", maxDepth)
}

// endsOperand reports whether tokens[i] can be the last token of an operand, so that an operator must follow.
func endsOperand(tokens []lexer.Token, i int) bool {
	if i < 0 {
		return false
	}
	switch t := tokens[i]; t.Kind {
	case lexer.Identifier, lexer.Number, lexer.String, lexer.Bytes:
		return true
	case lexer.Bracket:
		return t.Value == ")" || t.Value == "]" || t.Value == "}"
	}
	return false
}
