// Command classify says what photos show, and with -html makes a contact sheet of them, one file that any browser opens.
//
//	make models
//	go run -tags onnx ./examples/classify -in testdata/photos -html sheet.html
//	sluice 'testdata/photos/*.jpg | infer onnx:efficientnet-lite0 image | select path, label, score'
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"html/template"
	"io"
	"log"
	"os"
	"path"
	"strings"

	"github.com/sluice-data/sluice"
)

func main() {
	in := flag.String("in", "testdata/photos", "folder of photos")
	html := flag.String("html", "", "file for a contact sheet")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *in, *html); err != nil {
		log.Fatal(err)
	}
}

// photo is one cell of the contact sheet.
type photo struct {
	Name, Label string
	Percent     int
	Thumbnail   template.URL
}

// Unsure says that the label is a guess.
func (p photo) Unsure() bool { return p.Percent < 10 }

// Title is what to write below the photo.
func (p photo) Title() string {
	if p.Unsure() {
		return "perhaps " + p.Label
	}
	return p.Label
}

func run(ctx context.Context, w io.Writer, in, html string) error {
	s, err := sluice.Open(ctx, sluice.WithOnError(sluice.Skip), sluice.WithOrdered())
	if err != nil {
		return err
	}
	defer s.Close()
	rows := s.Read(in+"/**/*.{jpg,png,webp,tif,gif}").
		Infer("onnx:efficientnet-lite0", "image -> label, score").
		Decode().
		Resize(224, 224, "fit=fit").
		Encode("jpeg", 80)
	var photos []photo
	for r, err := range rows.Rows(ctx) {
		if err != nil {
			return err
		}
		p := photo{Name: path.Base(r["path"].(string)), Label: r["label"].(string), Percent: int(100*r["score"].(float32) + 0.5)}
		p.Thumbnail = template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(r["image"].([]byte))) //nolint:gosec // a picture made here
		fmt.Fprintf(w, "%-24s %3d %% %-10s %s\n", p.Name, p.Percent, strings.Repeat("▇", p.Percent/10), p.Title())
		photos = append(photos, p)
	}
	rep, _ := rows.Stats()
	for _, f := range rep.Failures {
		for _, e := range f.Examples {
			fmt.Fprintf(w, "left out: %s: %s\n", e.Where, e.Cause)
		}
	}
	if html == "" {
		return nil
	}
	var page bytes.Buffer
	if err := sheet.Execute(&page, photos); err != nil {
		return err
	}
	if err := os.WriteFile(html, page.Bytes(), 0o644); err != nil { //nolint:gosec // a page to look at
		return err
	}
	fmt.Fprintf(w, "\n%d photos on %s\n", len(photos), html)
	return nil
}

var sheet = template.Must(template.New("sheet").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Contact sheet</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem; background: #16181d; color: #e6e6e6 }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(224px, 1fr)); gap: 1.2rem }
figure { margin: 0; background: #20242c; border-radius: 8px; overflow: hidden }
img { display: block; width: 100%; height: 168px; object-fit: cover }
figcaption { padding: .6rem .8rem }
b { display: block } small { color: #9aa4b2 }
.unsure { color: #9aa4b2; font-weight: normal }
.bar { height: 5px; margin: .3rem 0; background: #343a45; border-radius: 3px }
.bar i { display: block; height: 100%; background: #5fb56b; border-radius: 3px }
</style></head><body><h1>{{len .}} photos</h1><main>
{{range .}}<figure><img src="{{.Thumbnail}}" alt="{{.Label}}"><figcaption><b{{if .Unsure}} class="unsure"{{end}}>{{.Title}}</b><div class="bar"><i style="width: {{.Percent}}%"></i></div>
<small>{{.Percent}} % &middot; {{.Name}}</small></figcaption></figure>
{{end}}</main></body></html>
`))
