// Package expr is Sluice's one expression language: what `where`, `with` and Filter read.
//
// The syntax is expr-lang's (only its parser is used); meaning, types and evaluation are defined here and
// nowhere else. A source text becomes an *Expr (schema-free, canonical, part of the plan fingerprint); Compile
// checks it against an Arrow schema and returns a *Program that evaluates whole record batches in typed loops
// over Arrow buffers. There is no row interpreter to fall back to: a form that is not supported is an error
// when the plan is made. Reference evaluates one row slowly and obviously; it is the oracle of the tests.
//
// # Meaning
//
//   - Null is unknown: a function of null is null; and/or follow three-valued logic; `x == nil` tests for null;
//     `a ?? b` replaces it; a null condition of `c ? a : b` takes b.
//   - NaN equals NaN and is above every number; -0 equals 0. Comparisons between int, uint64, float and decimal are exact.
//   - A float32 column compares by its exact value: 0.9 stored as float32 is not the literal 0.9.
//   - `/` is float division; division by zero (also `%`) is null.
//   - Integers compute in int64, or in uint64 where uint64 meets uint64 or a literal that is not negative.
//     A result that does not fit, or a cast that fails, is a row error: the row is null in the result and listed.
//   - `and`, `or`, `?:`, `??` and `in [...]` stop as soon as the result is known: a row does not fail in a part
//     that it does not reach. Everything else evaluates all its arguments, left to right; the first failure counts.
//   - A constant part that always fails (int("x")) is refused by Compile.
//   - length and substr count code points; substr and list[i] count from 0, negative from the end; out of range is null.
//   - Timestamps without a zone are read as UTC when they meet one with a zone. Parts (year, hour, date_trunc) are
//     taken in the zone of the column.
//   - A float literal beside a decimal column means its decimal digits: price == 9.99 is true for 9.99.
//
// Read first: ast.go (the tree), check.go (types), program.go (evaluation), then one file per group of functions.
// The package runs nothing in the background and holds no state between calls; a Program may be shared by goroutines.
package expr
