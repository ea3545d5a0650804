// Package images reads picture files as they are: one row a file, with the columns path and image (type sluice.image on binary).
//
// Nothing is decoded here; a file that is no picture, or a broken one, is found by the step that decodes it. All picture extensions are
// this one reader.
package images
