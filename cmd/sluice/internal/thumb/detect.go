package thumb

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// patience is how long an answer of the terminal is waited for. Every terminal since the VT100 answers the second question at once; one that
// does not is shown half blocks.
const patience = 250 * time.Millisecond

// ask is a picture of one pixel that kitty's protocol only checks, and the question for the terminal's attributes, among which 4 is sixels.
const ask = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\" + "\x1b[c"

// Detect finds how pictures can be drawn on out. It asks the terminal through in, where both are one and nobody else reads from it. env is
// os.Getenv. Where out is no terminal, or colours are not wanted, the answer is None.
func Detect(in, out *os.File, env func(string) string) Mode {
	if !term.IsTerminal(int(out.Fd())) || env("TERM") == "dumb" || env("TERM") == "" || env("NO_COLOR") != "" {
		return None
	}
	blocks := Blocks256
	if c := env("COLORTERM"); c == "truecolor" || c == "24bit" || strings.HasSuffix(env("TERM"), "-direct") {
		blocks = Blocks
	}
	if !term.IsTerminal(int(in.Fd())) || env("TMUX") != "" || strings.HasPrefix(env("TERM"), "screen") { // multiplexers pass no pictures on
		return blocks
	}
	switch answer := question(in, out); {
	case strings.Contains(answer, "_Gi=31;OK"):
		return Kitty
	case sixels(answer):
		return Sixel
	}
	return blocks
}

// question writes ask and reads until the terminal has told its attributes.
func question(in, out *os.File) string {
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return ""
	}
	defer func() { _ = term.Restore(int(in.Fd()), old) }()
	if _, err := out.WriteString(ask); err != nil {
		return ""
	}
	var answer strings.Builder
	buf := make([]byte, 256)
	for deadline := time.Now().Add(patience); !answered(answer.String()); {
		left := time.Until(deadline)
		if left <= 0 || !readable(in, left) {
			break
		}
		n, err := in.Read(buf)
		answer.Write(buf[:n])
		if err != nil || answer.Len() > 4096 {
			break
		}
	}
	return answer.String()
}

// attributes finds the numbers of the answer to CSI c: CSI ? 6 2 ; 4 c.
func attributes(answer string) (string, bool) {
	_, rest, ok := strings.Cut(answer, "\x1b[?")
	if !ok {
		return "", false
	}
	list, _, ok := strings.Cut(rest, "c")
	return list, ok
}

func answered(answer string) bool {
	_, ok := attributes(answer)
	return ok
}

func sixels(answer string) bool {
	list, ok := attributes(answer)
	for _, a := range strings.Split(list, ";") {
		if n, err := strconv.Atoi(a); ok && err == nil && n == 4 {
			return true
		}
	}
	return false
}
