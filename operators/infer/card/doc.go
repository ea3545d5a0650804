// Package card reads model cards: small YAML or JSON files that say how the inputs of a model are made of columns, and what is made of its answers.
// A card is the same whether the model runs in this process or on a server. The schema is in docs/models.md; it has a version, and what it does not
// know is refused. Cards of some models are built in.
//
// Read card.go first, then find.go.
package card
