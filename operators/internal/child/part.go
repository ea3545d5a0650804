package child

import (
	"errors"
	"math"
)

// singly is up to how many rows are asked one by one after a time-out.
const singly = 64

// Part is how many rows at once are asked again of n rows, at least 2, that failed together with err. Half of them, so that the rows at fault are found in few
// steps; but a time-out costs its whole time at each step, so that after one, rows go one by one, or many of them in pieces of which there are as many as each has
// rows: a row that hangs then costs two or three time-outs rather than one for each halving.
func Part(n int, err error) int {
	d, ok := errors.AsType[*Died](err)
	switch {
	case !ok || d.Kind != "timeout":
		return (n + 1) / 2
	case n <= singly:
		return 1
	}
	return int(math.Sqrt(float64(n)))
}
