// Package media holds the operators that decode, transform and describe pictures.
//
// Every operator but mark-duplicates is one row in, one row out, on one column, and is described by a step
// (see step.go). Adjacent steps compose into one program a row (program.go): the file's header is read first, filters on
// width, height and format run on it, then the picture is decoded no larger than the next resize needs and
// stays in YCbCr planes up to the encoder if nothing asks for RGB. The result is that of the steps run one by one,
// within imaging.ComposedTolerance.
//
// A picture that cannot be decoded is the failure of its row, never of the run, and its class groups it with others of its
// kind ("truncated", "not an image"). Limits on pixels and bytes are checked before decoding. Native and scratch
// memory is reserved from the budget, from the header, before a picture is decoded, and blocks of results are cut by
// bytes, because pixels are many times larger than files.
//
// frames and crop-boxes make several rows of one, and are operators by themselves: of an animation all other steps see the first frame.
//
// What this package will not do: read files (connectors deliver bytes), convert between colour profiles (they travel with the pixels), or start goroutines.
//
// Read step.go first, then decode.go for the shape of an operator file, then runner.go.
package media
