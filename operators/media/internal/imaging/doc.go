// Package imaging decodes, transforms and encodes single pictures for the image operators.
//
// It knows no rows, blocks or plans. A [Worker] belongs to one goroutine and holds
// everything that is worth keeping between pictures: native JPEG handles, scratch memory
// and filter tables. One picture goes through it as
//
//	w.Reset()
//	header, err := imaging.ReadHeader(data, limits)  // no pixel decoded yet
//	img, err := w.Decode(data, header, hint)         // hint: the size that will be asked for
//	img, err = w.Resample(img, geometry, chroma)
//	data, err = w.Encode(dst, img, options)
//
// An [Image] lives in the worker's scratch memory until the next Reset.
//
// # What is promised
//
//   - Nothing is allocated for pixels before the header has passed [Limits].
//   - A damaged file is an error, never a half grey picture. A panic of a decoder is an
//     error of that file.
//   - Pictures are upright: EXIF orientation is applied, and a broken EXIF block counts as
//     none. AVIF and HEIC are turned as their boxes say.
//   - The sizes that compressed streams of AVIF and HEIC announce are read too: decoders allocate by those.
//   - JPEG planes stay YCbCr until a caller asks for RGB, so that JPEG to JPEG never leaves
//     them. Scaled decoding is used when the target is at most half of the source.
//   - The composed path and the steps run one by one agree within [ComposedTolerance], and so do
//     libjpeg-turbo and the standard library.
//
// Frames of an animation are played in order, one at a time (animation.go).
//
// It does not decode video or raw camera files, and it starts no goroutine.
//
// Read image.go for the data model, then decode.go and resample.go; heif.go for the boxes of AVIF and HEIC.
package imaging
