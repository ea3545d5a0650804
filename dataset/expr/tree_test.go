package expr

import (
	"reflect"
	"testing"
	"time"
)

func TestTerm(t *testing.T) {
	col := func(name string) Term { return Term{Column: name} }
	for _, tc := range []struct {
		text string
		want Term
	}{
		{"a", col("a")},
		{"a == 1", Term{Call: "==", Args: []Term{col("a"), {Value: int64(1)}}}},
		{"not (a < 'x')", Term{Call: "not", Args: []Term{{Call: "<", Args: []Term{col("a"), {Value: "x"}}}}}},
		{"a and b and c", Term{Call: "and", Args: []Term{col("a"), col("b"), col("c")}}},
		{"a in [1, nil]", Term{Call: "in", Args: []Term{col("a"), {Call: ListCall, Args: []Term{{Value: int64(1)}, {}}}}}},
		{"s.f", Term{Call: FieldCall, Args: []Term{col("s")}}},
		{`a > date("2024-05-06")`, Term{Call: ">", Args: []Term{col("a"), {Value: time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC)}}}},
	} {
		e, err := Parse(tc.text)
		if err != nil {
			t.Fatalf("%s: %v", tc.text, err)
		}
		if got := e.Term(); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", tc.text, got, tc.want)
		}
	}
}
