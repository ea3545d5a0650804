// Package page writes the page that --report makes of a run: the plan, how fast it went and what memory it took over time, what each stage waited for, and what
// failed, with a picture where a failing image can be decoded in part.
//
// It is one file without scripts and without anything from elsewhere; a content security policy in it forbids both. Charts are SVG made here.
//
// Read page.go first, then page.html.
package page
