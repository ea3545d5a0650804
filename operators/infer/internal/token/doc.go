// Package token divides text into the tokens of a model, as the tokenizer.json of the Hugging Face libraries describes it: WordPiece with BERT's
// rules, and byte-level BPE. What a file asks for beyond that is refused when it is read.
//
// Read token.go first.
package token
