//go:build browser

package main

import (
	"bytes"
	"context"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	alloc, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	defer stop()
	ctx, cancel := chromedp.NewContext(alloc)
	defer cancel()
	ctx, late := context.WithTimeout(ctx, 2*time.Minute)
	defer late()
	var mu sync.Mutex
	var complaints, asked []string
	chromedp.ListenTarget(ctx, func(ev any) {
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
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), network.EmulateNetworkConditions(true, 0, 0, 0)); err != nil {
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

// look opens the page once.
func look(ctx context.Context, t *testing.T, file, name string, width int64, scheme string) {
	t.Helper()
	var sticksOut, pictures, broken, lines, scripts int
	var text, background string
	var shot []byte
	err := chromedp.Run(ctx,
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.EmulateViewport(width, 900),
		chromedp.Navigate("file://"+file),
		chromedp.WaitVisible("#plan"),
		chromedp.Evaluate(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &sticksOut),
		chromedp.Evaluate(`document.images.length`, &pictures),
		chromedp.Evaluate(`[...document.images].filter(i => !i.complete || i.naturalWidth == 0).length`, &broken),
		chromedp.Evaluate(`[...document.querySelectorAll("polyline")].filter(p => p.getBBox().width > 100).length`, &lines),
		chromedp.Evaluate(`document.scripts.length`, &scripts),
		chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &background),
		chromedp.Text("body", &text),
		chromedp.FullScreenshot(&shot, 100),
	)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if sticksOut > 0 || pictures < 2 || broken > 0 || lines < 4 || scripts > 0 || (background == "rgb(255, 255, 255)") != (scheme == "light") {
		t.Errorf("%s: sticks out by %d, %d pictures, %d broken, %d lines of charts, %d scripts, background %s", name, sticksOut, pictures, broken, lines, scripts, background)
	}
	for _, want := range []string{"Rows a second", "Memory of the budget", "What stages did with their time", "decode: truncated", "begins with", "Physical plan"} {
		if !strings.Contains(text, want) {
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
