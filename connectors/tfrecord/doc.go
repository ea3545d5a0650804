// Package tfrecord reads and writes TFRecord files: records of bytes, each framed by its length and two masked CRC-32C sums, which are
// always checked.
//
// A row is one record, in the binary column "record"; with features=true records are tf.train.Example messages and every feature is a
// column: int64, float32 or binary, a list of them where an example of the sample has several values. The position of a row is the byte
// offset of its frame in the (decompressed) file. Plain files are divided at records; the headers say where they are. A record whose own sum is wrong fails
// alone; a frame whose length is wrong ends the file with an error, because nothing behind it can be found.
//
// Read frame.go first, then reader.go, example.go; writer.go is the other direction.
package tfrecord
