// Package hf reads folders laid out as the datasets library of Hugging Face lays them out: data files by split and pattern, and media with a table
// of metadata beside them.
//
// Which files belong to a split is decided as there. If the README.md of the folder begins with a YAML block that has configs, their
// data_files say it. Otherwise a file belongs to the split whose name stands in its path as a word of its own (data/train-00000-of-00002.parquet,
// test/a.csv, validation.jsonl), and all of them to train if no path names a split. The files are then read by the connector of their
// extension, with its defaults.
//
// A folder with files metadata.csv, metadata.jsonl or metadata.parquet is one of media: each row of the table names a file, relative to the table, in the
// column file_name. It is replaced by path and by the bytes of the file: image for pictures, audio for sound, data for others. A file that is not there,
// or is named by a path that leads out of the folder, is a row error that says so.
//
// Media without such a table give path and the bytes; where all of them lie equally deep in folders of several names (train/cat/1.jpg), the name of
// the folder is the label.
//
// What it will not do: read from the hub (download first), or run the loading scripts that old datasets have. Read register.go first, then
// files.go (which files), media.go (the join) and classes.go (the labels).
package hf
