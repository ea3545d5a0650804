package page

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/jpeg"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// failureView is a class of failed rows.
type failureView struct {
	Op, Class string
	Count     string
	Examples  []exampleView
	More      string
}

// exampleView is one failed row. Of a file that is there to be looked at, it has a picture or the first bytes.
type exampleView struct {
	Where, Cause string
	Picture      template.URL // a data: address; "" if nothing of it can be decoded
	File         string       // size and kind
	Bytes        string       // the first, in hexadecimal
}

const (
	maxExamples = 10       // of a class
	maxPictures = 60       // of a page
	maxFileSize = 64 << 20 // that is read for a picture
	firstBytes  = 16
	sniffBytes  = 512
	thumbSide   = 160
)

func (d *Data) failureViews() (out []failureView) {
	pictures := 0
	for _, f := range d.Report.Failures {
		v := failureView{Op: f.Op, Class: f.Class, Count: rows(f.Count)}
		for _, x := range f.Examples[:min(len(f.Examples), maxExamples)] {
			e := exampleView{Where: x.Where, Cause: firstLine(x.Cause)}
			if pictures < maxPictures {
				d.look(&e)
			}
			if e.Picture != "" {
				pictures++
			}
			v.Examples = append(v.Examples, e)
		}
		if n := f.Count - int64(len(v.Examples)); n > 0 && len(v.Examples) > 0 {
			v.More = "… and " + number(n) + " more"
		}
		out = append(out, v)
	}
	return out
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// look adds what can be seen of the file of an example: only whole files, which are rows by themselves, and only local ones.
func (d *Data) look(e *exampleView) {
	name := e.Where
	if !filepath.IsAbs(name) {
		name = filepath.Join(d.Folder, name)
	}
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	f, err := os.Open(name) //nolint:gosec // a file that the run has read
	if err != nil {
		return
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize))
	if err != nil {
		return
	}
	e.File = dataset.Bytes(st.Size())
	if len(data) == 0 {
		return
	}
	e.File += ", looks like " + http.DetectContentType(data[:min(len(data), sniffBytes)])
	if img, ok := salvage(data); ok {
		var b bytes.Buffer
		if jpeg.Encode(&b, thumbnail(img, thumbSide), &jpeg.Options{Quality: 80}) == nil {
			e.Picture = template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b.Bytes())) //nolint:gosec // bytes that were encoded here
			return
		}
	}
	e.Bytes = fmt.Sprintf("% x", data[:min(len(data), firstBytes)])
}
