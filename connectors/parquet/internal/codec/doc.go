// Package codec compresses and decompresses Parquet pages.
//
// Decompression is bounded: the size that a page states is compared with what
// its compressed bytes can possibly hold before memory is taken for it, and a
// codec never writes past that size. Snappy is compressed by s2.EncodeSnappy,
// which is two to three times as fast as the encoder that the Go Parquet
// libraries use, for files about 10 % larger, in the same format.
package codec
