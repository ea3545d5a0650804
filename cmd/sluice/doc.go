// Command sluice runs pipelines from the prompt: sluice 'photos/**/*.jpg | decode | resize 224x224 | out.parquet'.
//
// This package only wires the engine to the command line in internal/cli; read that package's doc.go first.
package main
