package vec

// Of copies a list of float32 as rows hold it.
func Of(list any) []float32 {
	items, _ := list.([]any)
	out := make([]float32, len(items))
	for i, x := range items {
		out[i], _ = x.(float32)
	}
	return out
}

// Dot is the cosine of the angle between two vectors of length 1.
func Dot(a, b []float32) float32 {
	var sum float32
	for i := range min(len(a), len(b)) {
		sum += a[i] * b[i]
	}
	return sum
}
