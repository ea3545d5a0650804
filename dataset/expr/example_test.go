package expr_test

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/expr"
)

func Example() {
	mem := memory.NewGoAllocator()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "score", Type: arrow.PrimitiveTypes.Float64},
		{Name: "lang", Type: arrow.BinaryTypes.String},
	}, nil)
	rec, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(
		`[{"score": 0.95, "lang": "de"}, {"score": null, "lang": "de"}, {"score": 0.99, "lang": "en"}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rec.Release()

	e, err := expr.Parse(`score>0.9&&lang=='de'`)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := expr.Compile(e, schema)
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, all, _, err := p.Select(mem, rec, nil)
	fmt.Println(e, rows, all, err)

	_, err = expr.Parse(`score > 0.9 AND lang = 'de'`)
	fmt.Println(err)
	// Output:
	// score > 0.9 and lang == "de" [0] false <nil>
	// parse expression: at byte 12: write `and` in lower case (or &&)
}
