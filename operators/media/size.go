package media

import (
	"fmt"
	"strconv"
	"strings"
)

// maxSide is the largest width or height that a step may ask for.
const maxSide = 65535

// parseSize reads WxH.
func parseSize(s string) (w, h int, err error) {
	ws, hs, ok := strings.Cut(s, "x")
	if ok {
		w, err = parseSide(ws)
		if err == nil {
			h, err = parseSide(hs)
		}
	}
	if !ok || err != nil {
		return 0, 0, fmt.Errorf("size %q is not WIDTHxHEIGHT with sides of 1 to %d, like 224x224", s, maxSide)
	}
	return w, h, nil
}

func parseSide(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n < 1 || n > maxSide {
		return 0, fmt.Errorf("side %q is out of range 1..%d", s, maxSide)
	}
	return int(n), nil
}
