package sluice_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/operators"
)

// events are six rows with the columns id, text, lang, score, tags and user.
func events(s *sluice.Session) sluice.Dataset { return s.ReadJSONL("examples/data/events.jsonl") }

func ExampleDataset_Filter() {
	s := session()
	defer s.Close()
	show(events(s).Filter("score > 0.9 and 'travel' in tags").Select("id", "score"))
	// Output: {"id":5,"score":0.95}
}

func ExampleDataset_Select() {
	s := session()
	defer s.Close()
	show(events(s).Limit(2).Select("lang", "id"))
	// Output:
	// {"lang":"de","id":1}
	// {"lang":"en","id":2}
}

func ExampleDataset_Drop() {
	s := session()
	defer s.Close()
	show(events(s).Limit(1).Drop("tags", "user"))
	// Output: {"id":1,"text":"Guten Morgen","lang":"de","score":0.93}
}

func ExampleDataset_Rename() {
	s := session()
	defer s.Close()
	show(events(s).Limit(1).Select("id", "lang").Rename("lang", "language"))
	// Output: {"id":1,"language":"de"}
}

func ExampleDataset_With() {
	s := session()
	defer s.Close()
	show(events(s).Limit(2).With("len", "length(text)").With("good", "score > 0.95").Select("id", "len", "good"))
	// Output:
	// {"id":1,"len":12,"good":false}
	// {"id":2,"len":12,"good":true}
}

func ExampleDataset_Limit() {
	s := session()
	defer s.Close()
	show(events(s).Select("id").Limit(2))
	// Output:
	// {"id":1}
	// {"id":2}
}

// The same rows stay every time, whatever the parallelism; another seed gives others.
func ExampleDataset_Sample() {
	s := session()
	defer s.Close()
	a, _ := events(s).Sample(0.5, "seed=3").Count(ctx)
	b, _ := events(s).Sample(0.5, "seed=3").Count(ctx)
	all, _ := events(s).Sample(1).Count(ctx)
	none, _ := events(s).Sample(0).Count(ctx)
	fmt.Println(a == b, all, none)
	// Output: true 6 0
}

func ExampleDataset_Sort() {
	s := session()
	defer s.Close()
	show(events(s).Select("lang", "score").Sort("lang", "score desc"))
	// Output:
	// {"lang":"de","score":0.95}
	// {"lang":"de","score":0.93}
	// {"lang":"de","score":0.41}
	// {"lang":"en","score":0.97}
	// {"lang":"en","score":0.88}
	// {"lang":"fr","score":null}
}

func ExampleDataset_Union() {
	s := session()
	defer s.Close()
	best := events(s).Filter("score > 0.96").Select("id", "lang")
	worst := events(s).Filter("score < 0.5").Select("id", "lang")
	show(best.Union(worst))
	// Output:
	// {"id":2,"lang":"en"}
	// {"id":3,"lang":"de"}
}

func ExampleDataset_Repartition() {
	s := session()
	defer s.Close()
	for b, err := range events(s).Repartition(4).Blocks(ctx) {
		fmt.Println(b.NumRows(), err)
	}
	// Output:
	// 4 <nil>
	// 2 <nil>
}

// A list column gives a row for each element, a struct column a column for each field.
func ExampleDataset_Unnest() {
	s := session()
	defer s.Close()
	show(events(s).Filter("id <= 2").Select("id", "tags", "user").Unnest("tags").Unnest("user"))
	// Output:
	// {"id":1,"tags":"greeting","name":"Ada","age":36}
	// {"id":2,"tags":"greeting","name":"Bob","age":52}
	// {"id":2,"tags":"short","name":"Bob","age":52}
}

// Addresses that are not public are refused unless they are allowed.
func ExampleDataset_Download() {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "body of ", r.URL.Path)
	}))
	defer web.Close()
	s := session()
	defer s.Close()
	ds := events(s).Limit(2).Select("id").
		With("url", "'"+web.URL+"/' + string(id)").
		Download("url", "timeout=10s", "max_bytes=1MiB", "allow_private=true")
	show(ds.With("data", "string(data)").Select("id", "data"))
	// Output:
	// {"id":1,"data":"body of /1"}
	// {"id":2,"data":"body of /2"}
}

// Any step of a pipeline string is a step here too.
func ExampleDataset_Step() {
	s := session()
	defer s.Close()
	show(events(s).Step("where", "lang == 'fr'").Step("select", "id, lang"))
	// Output: {"id":6,"lang":"fr"}
}

// Tune changes how the last step runs, never what it gives.
func ExampleDataset_Tune() {
	s := session()
	defer s.Close()
	fmt.Println(events(s).Filter("id > 3").Tune(sluice.Concurrency(1, 2), sluice.BatchSize(2)).Count(ctx))
	// Output: 3 <nil>
}

// Via takes any operator: of package operators, or of your own.
func ExampleDataset_Via() {
	s := session()
	defer s.Close()
	limit, err := operators.Limit(operators.LimitParams{Rows: 1})
	if err != nil {
		log.Fatal(err)
	}
	show(events(s).Select("id").Via(limit))
	// Output: {"id":1}
}
