package sluice_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-data/sluice"
)

var ctx = context.Background()

// session opens a session for an example; a program calls sluice.Open and Close.
func session() *sluice.Session {
	s, err := sluice.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// show writes rows to standard output, as JSON lines and in source order.
func show(ds sluice.Dataset) {
	if _, err := ds.WriteJSONL("-").Run(ctx); err != nil {
		fmt.Println("error:", err)
	}
}

// folder makes a folder for results.
func folder() string {
	dir, err := os.MkdirTemp("", "sluice-example-*")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// Photos are decoded, filtered, resized and written to one Parquet file.
func Example() {
	s, err := sluice.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	dir := folder()
	defer os.RemoveAll(dir)

	report, err := s.ReadImages("testdata/photos/*.jpg").
		Decode().
		Filter("width >= 500").
		Resize(224, 224).
		Encode("jpeg", 85).
		WriteParquet(filepath.Join(dir, "photos.parquet")).
		Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("read", report.RowsRead, "wrote", report.RowsWritten)
	// Output: read 9 wrote 8
}

// A loop over blocks gets Arrow columns. Leaving it ends the run.
func ExampleDataset_Blocks() {
	s := session()
	defer s.Close()
	ds := s.ReadJSONL("examples/data/events.jsonl").Select("id", "lang")
	for b, err := range ds.Blocks(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(b.NumRows(), "rows:", b.ColumnByName("lang"))
	}
	// Output: 6 rows: ["de" "en" "de" "en" "de" "fr"]
}

func ExampleDataset_Rows() {
	s := session()
	defer s.Close()
	for row, err := range s.ReadJSONL("examples/data/events.jsonl").Limit(2).Rows(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row["id"], row["text"], row["tags"])
	}
	// Output:
	// 1 Guten Morgen [greeting]
	// 2 Good morning [greeting short]
}

func ExampleDataset_Take() {
	s := session()
	defer s.Close()
	rows, err := s.ReadJSONL("examples/data/events.jsonl").Select("id", "score").Take(ctx, 2)
	fmt.Println(rows, err)
	// Output: [map[id:1 score:0.93] map[id:2 score:0.97]] <nil>
}

func ExampleDataset_Count() {
	s := session()
	defer s.Close()
	fmt.Println(s.ReadJSONL("examples/data/events.jsonl").Filter("lang == 'de'").Count(ctx))
	// Output: 3 <nil>
}

func ExampleDataset_Schema() {
	s := session()
	defer s.Close()
	schema, err := s.ReadImages("testdata/photos").Decode().Schema(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range schema.Fields() {
		fmt.Println(f.Name, f.Type)
	}
	// Output:
	// path utf8
	// image pixels
	// width int32
	// height int32
	// format utf8
}

// Rows of structs: fields are columns, by name in snake case or by tag.
func ExampleRows() {
	s := session()
	defer s.Close()
	type Event struct {
		ID    int64
		Text  *string // a null is nil
		Score float64 `sluice:"score,zero"` // a null is 0
	}
	for e, err := range sluice.Rows[Event](ctx, s.ReadJSONL("examples/data/events.jsonl").Filter("id > 4")) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.ID, e.Score, e.Text != nil)
	}
	// Output:
	// 5 0.95 true
	// 6 0 false
}

// Two results of one pass over the data.
func ExampleSession_Run() {
	s := session()
	defer s.Close()
	dir := folder()
	defer os.RemoveAll(dir)
	events := s.ReadJSONL("examples/data/events.jsonl").Filter("score > 0.9")
	report, err := s.Run(ctx,
		events.WriteParquet(filepath.Join(dir, "events.parquet")),
		events.Select("id", "text").WriteJSONL(filepath.Join(dir, "texts.jsonl")))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("read", report.RowsRead, "rows for", len(report.Targets), "results")
	// Output: read 6 rows for 2 results
}

func ExampleSession_With() {
	s := session()
	defer s.Close()
	careful := s.With(sluice.WithOnError(sluice.Skip), sluice.WithOrdered())
	n, err := careful.ReadImages("testdata/photos/broken").Decode().Count(ctx)
	fmt.Println(n, err)
	// Output: 0 <nil>
}

func ExampleSession_Pipeline() {
	s := session()
	defer s.Close()
	show(s.Pipeline(`examples/data/events.jsonl | where score > 0.9 and lang == "de" | select id, text`))
	// Output:
	// {"id":1,"text":"Guten Morgen"}
	// {"id":5,"text":"Der nächste Zug ist pünktlich"}
}

func ExampleSession_Job() {
	s := session()
	defer s.Close()
	if _, err := s.Job("examples/data/events.jsonl | limit 1 | select id, lang | -").Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: {"id":1,"lang":"de"}
}

// The plan is printed twice: as it was written, and as the stages that run. Steps that need no pool of their own become one stage.
func ExampleDataset_Explain() {
	s, err := sluice.Open(ctx, sluice.WithParallel(2))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	text, err := s.ReadJSONL("examples/data/events.jsonl").Filter("score > 0.9").Select("id").Explain(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, stages, _ := strings.Cut(text, "Physical plan")
	for line := range strings.Lines(stages) {
		if strings.HasPrefix(line, "  2  ") {
			fmt.Print(line)
		}
	}
	// Output: 2  where → select  (from 1; up to 2 workers)
}

// The plan is run, and what was measured stands beside it.
func ExampleDataset_Analyze() {
	s := session()
	defer s.Close()
	text, err := s.ReadJSONL("examples/data/events.jsonl").Filter("score > 0.9").Select("id").Analyze(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if measured, ok := strings.CutPrefix(strings.TrimSpace(line), "measured: in 6 rows"); ok {
			out, _, _ := strings.Cut(measured[strings.Index(measured, "out "):], " in ")
			fmt.Println(out)
			break
		}
	}
	// Output: out 3 rows
}

// A plan can be drawn as well, in the language of Mermaid.
func ExampleSession_Describe() {
	s := session()
	defer s.Close()
	e, err := s.Describe(ctx, s.ReadJSONL("examples/data/events.jsonl").Limit(3).Plain().To(nil))
	if err != nil {
		log.Fatal(err)
	}
	kind, _, _ := strings.Cut(e.Mermaid(), "\n")
	fmt.Println(kind)
	// Output: flowchart LR
}

// The extension chooses the reader; a folder is read recursively.
func ExampleSession_Read() {
	s := session()
	defer s.Close()
	n, err := s.Read("testdata/photos/*.{jpg,png}", "testdata/photos/sub").Count(ctx)
	fmt.Println(n, err)
	// Output: 19 <nil>
}

// Options are those of pipeline strings.
func ExampleSession_ReadJSONL() {
	s := session()
	defer s.Close()
	schema, err := s.ReadJSONL("examples/data/events.jsonl", "schema=id:int32, score:string").Select("id", "score").Schema(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(schema.Field(0).Type, schema.Field(1).Type)
	// Output: int32 utf8
}

func ExampleSession_ReadImages() {
	s := session()
	defer s.Close()
	rows, err := s.ReadImages("testdata/photos/cat.jpg").Take(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %.3q\n", rows[0]["path"], rows[0]["image"])
	// Output: testdata/photos/cat.jpg "\xff\xd8\xff"
}

func ExampleSession_ReadParquet() {
	s := session()
	defer s.Close()
	dir := folder()
	defer os.RemoveAll(dir)
	if _, err := s.ReadJSONL("examples/data/events.jsonl").WriteParquet(filepath.Join(dir, "events.parquet")).Run(ctx); err != nil {
		log.Fatal(err)
	}
	show(s.ReadParquet(filepath.Join(dir, "*.parquet")).Filter("id == 4").Select("id", "user"))
	// Output: {"id":4,"user":{"name":"Eve","age":29}}
}

func ExampleSession_ReadBinary() {
	s := session()
	defer s.Close()
	show(s.ReadBinary("examples/data/*").With("bytes", "length(data)").Select("path", "bytes"))
	// Output: {"path":"examples/data/events.jsonl","bytes":647}
}

func ExampleSession_ReadWith() {
	s := session()
	defer s.Close()
	fmt.Println(s.ReadWith("binary", []string{"testdata/photos", "examples/data"}, "max_file=1MiB").Filter("length(data) > 100000").Count(ctx))
	// Output: 6 <nil>
}

// A folder may be divided by the values of a column.
func ExampleDataset_Write() {
	s := session()
	defer s.Close()
	dir := folder()
	defer os.RemoveAll(dir)
	report, err := s.ReadJSONL("examples/data/events.jsonl").Write(dir+"/events/", "by=lang", "compression=zstd").Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.RowsWritten, "rows in", report.Targets[0].Parts, "files")
	// Output: 6 rows in 3 files
}

// The same run again finds its result complete.
func ExampleOutput_Run() {
	s := session()
	defer s.Close()
	dir := folder()
	defer os.RemoveAll(dir)
	out := s.ReadJSONL("examples/data/events.jsonl").Write(filepath.Join(dir, "events.parquet"))
	for range 2 {
		report, err := out.Run(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report.RowsWritten, report.Complete)
	}
	// Output:
	// 6 false
	// 0 true
}

func ExampleDataset_WriteJSONL() {
	s := session()
	defer s.Close()
	if _, err := s.ReadJSONL("examples/data/events.jsonl").Select("user").Limit(1).WriteJSONL("-").Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: {"user":{"name":"Ada","age":36}}
}

func ExampleSession_ReadCSV() {
	s := session()
	defer s.Close()
	dir := folder()
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "people.csv")
	if err := os.WriteFile(path, []byte("id;name;born\n1;Ada;1815-12-10\n2;NA;NA\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	show(s.ReadCSV(path, "delim=;", "null=NA"))
	// Output:
	// {"id":1,"name":"Ada","born":"1815-12-10"}
	// {"id":2,"name":null,"born":null}
}

func ExampleDataset_WriteCSV() {
	s := session()
	defer s.Close()
	if _, err := s.ReadJSONL("examples/data/events.jsonl").Limit(2).Select("id", "text", "score").WriteCSV("-").Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// id,text,score
	// 1,Guten Morgen,0.93
	// 2,Good morning,0.97
}

func ExampleSession_JobFile() {
	s := session()
	defer s.Close()
	if _, err := s.JobFile("examples/jobs/job.yaml", map[string]string{"lang": "de", "out": "-"}).Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"id":5,"len":29,"text":"Der nächste Zug ist pünktlich"}
	// {"id":1,"len":12,"text":"Guten Morgen"}
	// {"id":3,"len":29,"text":"Der Zug hat leider Verspätung"}
}
