//go:build browser

package main

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestReportInABrowser opens the page about a real run in a headless browser without a network, at the widths of a screen and of a telephone, light and dark. Nothing may be asked
// for, nothing may run, the browser may complain about nothing, every picture must be one, and nothing may stick out. With SLUICE_SCREENSHOT a picture of the page is kept there.
func TestReportInABrowser(t *testing.T) {
	browser := os.Getenv("SLUICE_BROWSER")
	if browser == "" {
		t.Fatal("SLUICE_BROWSER is not set: make test-browser finds a browser")
	}
	file := reportOfARun(t)
	alloc, stop := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(browser), chromedp.Headless, chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	defer stop()
	ctx, cancel := chromedp.NewContext(alloc)
	defer cancel()
	ctx, late := context.WithTimeout(ctx, 2*time.Minute)
	defer late()
	var mu sync.Mutex
	var complaints, asked []string
	err := chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := ev.(type) {
		case *log.EventEntryAdded:
			complaints = append(complaints, e.Entry.Text)
		case *runtime.EventExceptionThrown:
			complaints = append(complaints, e.ExceptionDetails.Text)
		case *network.EventRequestWillBeSent:
			if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "data" && u.Path != file {
				asked = append(asked, e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_, nerr := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	_, lerr := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	_, oerr := chromedp.Call(ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: true})
	if err := errors.Join(nerr, lerr, oerr); err != nil {
		t.Fatal(err)
	}
	for _, view := range []struct {
		name   string
		width  int64
		scheme string
	}{{"wide", 1200, "light"}, {"dark", 1200, "dark"}, {"narrow", 390, "light"}} {
		look(ctx, t, file, view.name, view.width, view.scheme)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(complaints) > 0 || len(asked) > 0 {
		t.Errorf("the browser complains of %q, the page asks for %q", complaints, asked)
	}
}

// seen is what the page says of itself.
type seen struct {
	SticksOut, Pictures, Broken, Lines, Scripts int
	Background, Text                            string
}

const ask = `({
  SticksOut: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  Pictures: document.images.length, Broken: [...document.images].filter(i => !i.complete || i.naturalWidth == 0).length,
  Lines: [...document.querySelectorAll("polyline")].filter(p => p.getBBox().width > 100).length, Scripts: document.scripts.length,
  Background: getComputedStyle(document.body).backgroundColor, Text: document.body.innerText})`

// look opens the page once.
func look(ctx context.Context, t *testing.T, file, name string, width int64, scheme string) {
	t.Helper()
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err == nil {
		err = chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+file))
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s, err := chromedp.Run(ctx, chromedp.Evaluate[seen](ask))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if s.SticksOut > 0 || s.Pictures < 2 || s.Broken > 0 || s.Lines < 4 || s.Scripts > 0 || (s.Background == "rgb(255, 255, 255)") != (scheme == "light") {
		t.Errorf("%s: %+v", name, s)
	}
	for _, want := range []string{"Rows a second", "Memory of the budget", "What stages did with their time", "decode: truncated", "begins with", "Physical plan"} {
		if !strings.Contains(s.Text, want) {
			t.Errorf("%s: nobody sees %q", name, want)
		}
	}
	img, err := png.Decode(bytes.NewReader(shot))
	if err != nil || img.Bounds().Dx() < int(width) {
		t.Errorf("%s: the screenshot is %v, %v", name, img.Bounds(), err)
	}
	if keep := os.Getenv("SLUICE_SCREENSHOT"); keep != "" {
		if err := os.WriteFile(strings.TrimSuffix(keep, ".png")+"-"+name+".png", shot, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// reportOfARun runs a pipeline over enough photos to take a while, some of them broken, and returns the page about it.
func reportOfARun(t *testing.T) string {
	t.Helper()
	dir := photos(t)
	samples, err := filepath.Glob(filepath.Join(dir, "photos", "*.jpg"))
	if err != nil || len(samples) == 0 {
		t.Fatal(err)
	}
	for i := range 120 {
		for _, s := range samples {
			link := filepath.Join(dir, "photos", "many", strings.TrimSuffix(filepath.Base(s), ".jpg")+"-"+string(rune('a'+i/26))+string(rune('a'+i%26))+".jpg")
			if err := os.MkdirAll(filepath.Dir(link), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(s, link); err != nil {
				t.Fatal(err)
			}
		}
	}
	raw, err := os.ReadFile(samples[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "photos", "broken", "half.jpg"), string(raw[:len(raw)/2]))
	_, errs, code := run(t, dir, "", "--on-error=skip", "--memory", "64MiB", "--report", "run.html",
		"photos/**/*.{jpg,png,webp} | decode | where width >= 256 | resize 224x224 | score | encode jpeg 85 | sort blur desc | out/")
	if code != 0 {
		t.Fatal(errs)
	}
	return filepath.Join(dir, "run.html")
}
