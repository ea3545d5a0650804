package thumb

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/ansi/sixel"
)

// Mode is a way to draw.
type Mode string

// The ways.
const (
	None      Mode = "none"      // nothing is drawn
	Blocks    Mode = "blocks"    // half blocks in 24-bit colours
	Blocks256 Mode = "blocks256" // half blocks in the 256 colours of old terminals
	Kitty     Mode = "kitty"
	Sixel     Mode = "sixel"
)

// Modes are the names that a person may choose from.
func Modes() []string {
	return []string{string(None), string(Blocks), string(Blocks256), string(Kitty), string(Sixel)}
}

// Cell is the size of a character cell in pixels, which decides how large a picture should be for the graphics protocols. It is the usual one;
// terminals scale kitty's pictures to the cells that are asked for, and sixels come out a little larger or smaller.
var Cell = image.Pt(10, 20)

// Pixels is the size that a picture for so many columns and lines should be given in.
func (m Mode) Pixels(columns, lines int) image.Point {
	if m == Kitty || m == Sixel {
		return image.Pt(columns*Cell.X, lines*Cell.Y)
	}
	return image.Pt(columns, 2*lines)
}

// gap is how many columns are between pictures.
const gap = 2

// Draw writes pictures side by side, each within columns and lines, indented by indent columns. A nil picture leaves its place empty.
func Draw(w io.Writer, m Mode, pictures []image.Image, indent, columns, lines int) error {
	if m == None || len(pictures) == 0 {
		return nil
	}
	var b bytes.Buffer
	if m == Kitty || m == Sixel {
		if err := graphics(&b, m, pictures, indent, columns, lines); err != nil {
			return err
		}
	} else {
		blocks(&b, pictures, indent, columns, used(pictures, lines), m == Blocks256)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// used is how many lines the highest picture takes.
func used(pictures []image.Image, lines int) int {
	most := 0
	for _, p := range pictures {
		if p != nil {
			most = max(most, (p.Bounds().Dy()+1)/2)
		}
	}
	return min(most, lines)
}

// blocks draws two pixels in each cell: the upper one is the colour of the character, the lower one that behind it.
func blocks(b *bytes.Buffer, pictures []image.Image, indent, columns, lines int, old bool) {
	for y := range lines {
		line := strings.Repeat(" ", indent)
		for i, p := range pictures {
			if i > 0 {
				line += strings.Repeat(" ", gap)
			}
			line += blockLine(p, 2*y, columns, old)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// blockLine draws the pixels of two rows of a picture, and blanks up to the width.
func blockLine(p image.Image, y, columns int, old bool) string {
	if p == nil || y >= p.Bounds().Dy() {
		return strings.Repeat(" ", columns)
	}
	var out strings.Builder
	at := p.Bounds()
	n := min(at.Dx(), columns)
	last := ""
	for x := range n {
		style := ansi.Style{}.ForegroundColor(shade(p.At(at.Min.X+x, at.Min.Y+y), old))
		if y+1 < at.Dy() {
			style = style.BackgroundColor(shade(p.At(at.Min.X+x, at.Min.Y+y+1), old))
		} else {
			style = style.DefaultBackgroundColor()
		}
		if s := style.String(); s != last { // the same colours as the cell before need not be said again
			out.WriteString(s)
			last = s
		}
		out.WriteString("▀")
	}
	return out.String() + ansi.ResetStyle + strings.Repeat(" ", columns-n)
}

func shade(c color.Color, old bool) ansi.Color {
	r, g, b, _ := c.RGBA()
	rgb := ansi.RGBColor{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8)} //nolint:gosec // 16 bits to 8
	if old {
		return ansi.Convert256(rgb)
	}
	return rgb
}

// graphics makes room below first, so that drawing never scrolls, and goes back up for each picture.
func graphics(b *bytes.Buffer, m Mode, pictures []image.Image, indent, columns, lines int) error {
	b.WriteString(strings.Repeat("\n", lines) + ansi.CursorUp(lines))
	for i, p := range pictures {
		if p == nil {
			continue
		}
		b.WriteString(ansi.SaveCursor)
		if at := indent + i*(columns+gap); at > 0 {
			b.WriteString(ansi.CursorForward(at))
		}
		if err := graphic(b, m, p); err != nil {
			return fmt.Errorf("draw picture: %w", err)
		}
		b.WriteString(ansi.RestoreCursor)
	}
	b.WriteString(strings.Repeat("\n", lines))
	return nil
}

func graphic(b *bytes.Buffer, m Mode, p image.Image) error {
	if m == Kitty {
		size := p.Bounds().Size()
		return kitty.EncodeGraphics(b, p, &kitty.Options{Action: kitty.TransmitAndPut, Transmission: kitty.Direct, Format: kitty.PNG, Quiet: 2,
			Columns: cells(size.X, Cell.X), Rows: cells(size.Y, Cell.Y), DoNotMoveCursor: true, Chunk: true})
	}
	var payload bytes.Buffer
	if err := (&sixel.Encoder{}).Encode(&payload, p); err != nil {
		return err
	}
	b.WriteString(ansi.SixelGraphics(0, 1, 0, payload.Bytes()))
	return nil
}

func cells(pixels, cell int) int { return max(1, (pixels+cell-1)/cell) }
