// Package browsertest opens pages in Chromium, without a window, for tests: it uses them as
// people do, takes pictures of them, and fails the test for errors on the page's console and
// for requests that leave the machine.
package browsertest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Required, in the environment, makes a missing Chromium a failure. Without it a test that
// needs one is skipped. Pictures is the folder that pictures are written to, if it is set.
const (
	Required = "VERNIER_REQUIRE_BROWSER"
	Pictures = "VERNIER_SCREENSHOTS"
)

// limit is the time that one step may take, patience how long a page may take to get somewhere.
const (
	limit    = time.Minute
	patience = 20 * time.Second
)

// View is how a page is looked at.
type View struct {
	Width int // in pixels
	Dark  bool
}

// Views are those that a page is to look well in: narrow and wide, light and dark.
func Views() []View { return []View{{400, false}, {400, true}, {1600, false}, {1600, true}} }

func (v View) String() string {
	if v.Dark {
		return fmt.Sprintf("%d-dark", v.Width)
	}
	return fmt.Sprintf("%d-light", v.Width)
}

// Page is a page in a browser.
type Page struct {
	t    *testing.T
	ctx  context.Context
	view View

	mu       sync.Mutex
	faults   []string
	expected []string
}

// chromium finds the browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv(Required) != "" {
		t.Fatalf("%s is set, and Chromium is not installed (Debian: apt install chromium)", Required)
	}
	t.Skip("Chromium is not installed (Debian: apt install chromium)")
	return ""
}

// Open opens a page, which ends with the test.
func Open(t *testing.T, at string, view View) *Page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, // root of a container has no sandbox
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en"))
	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	tab, closeTab := chromedp.NewContext(allocator)
	p := &Page{t: t, ctx: tab, view: view}
	t.Cleanup(func() {
		closeTab()
		end()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, fault := range p.faults {
			if i := slices.IndexFunc(p.expected, func(text string) bool { return strings.Contains(fault, text) }); i >= 0 {
				p.expected = slices.Delete(p.expected, i, i+1)
				continue
			}
			t.Errorf("%s, %v: %s", at, view, fault)
		}
		if len(p.expected) > 0 {
			t.Errorf("%s, %v: the console does not say %q", at, view, p.expected)
		}
	})
	// The browser starts with the first action, and ends with the context of that.
	if err := chromedp.Do(tab, chromedp.Sleep(0)); err != nil {
		t.Fatalf("starting Chromium: %v", err)
	}
	if err := chromedp.Listen(tab, p.listen); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if view.Dark {
		scheme = "dark"
	}
	call(p, network.Enable, network.EnableParams{})
	call(p, runtime.Enable, cdp.Empty{})
	call(p, cdplog.Enable, cdp.Empty{})
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: int64(view.Width), Height: 900, DeviceScaleFactor: 1})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	p.Do(chromedp.Navigate(at))
	return p
}

// call sends a command of the browser's protocol.
func call[P, R any](p *Page, command cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.t.Fatalf("%v: %s: %v", p.view, command.Method, err)
	}
}

// run does something with the page and returns what comes of it.
func run[T any](p *Page, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		p.t.Fatalf("%v: %v", p.view, err)
	}
	return v
}

// listen takes down what must not happen.
func (p *Page) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.fault("an exception: %v", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			p.fault("the console says %s of %v", e.Type, e.Args)
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError {
			p.fault("the console says %s (%s)", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if to, err := url.Parse(e.Request.URL); err != nil || !local(to) {
			p.fault("a request goes to %s", e.Request.URL)
		}
	}
}

// local reports whether an address is on this machine.
func local(to *url.URL) bool {
	switch to.Scheme {
	case "data", "blob", "file", "about":
		return true
	}
	return to.Hostname() == "127.0.0.1"
}

// Expect says that the console will tell an error that holds a text, once: browsers tell every
// answer that is not 200, also to a request that was to be refused.
func (p *Page) Expect(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append(p.expected, text)
}

func (p *Page) fault(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// Do does something with the page.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	run(p, chromedp.Steps(steps...))
}

// Run runs a script on the page.
func (p *Page) Run(script string) {
	p.t.Helper()
	run(p, chromedp.Evaluate[bool]("{"+script+"}; true"))
}

// Focus gives the focus to what a selector names.
func (p *Page) Focus(selector string) {
	p.t.Helper()
	p.Run(fmt.Sprintf("document.querySelector(%q).focus()", selector))
}

// Is waits until an expression of the page is true.
func (p *Page) Is(expression string) {
	p.t.Helper()
	for end := time.Now().Add(patience); !run(p, chromedp.Evaluate[bool]("Boolean("+expression+")")); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			p.Picture("failed")
			p.t.Fatalf("%v: %s does not become true; the focus is on %s", p.view, expression, p.Text("document.activeElement.outerHTML.slice(0, 200)"))
		}
	}
}

// Text is the value of an expression of the page, as text.
func (p *Page) Text(expression string) string {
	p.t.Helper()
	return run(p, chromedp.Evaluate[string]("String("+expression+")"))
}

// Drop drops a file onto the page.
func (p *Page) Drop(name string, file []byte) {
	p.t.Helper()
	p.Run(fmt.Sprintf(`
		const bytes = Uint8Array.from(atob(%q), (c) => c.charCodeAt(0)), dropped = new DataTransfer();
		dropped.items.add(new File([bytes], %q));
		for (const type of ["dragenter", "dragover", "drop"])
			document.getElementById("drop").dispatchEvent(new DragEvent(type, {dataTransfer: dropped, bubbles: true, cancelable: true}));
	`, base64.StdEncoding.EncodeToString(file), name))
}

// Keys presses keys, one after another.
func (p *Page) Keys(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.Do(chromedp.KeyEvent(k))
	}
}

// Fits checks that nothing is wider than the page.
func (p *Page) Fits() {
	p.t.Helper()
	if wide := p.Text(`document.documentElement.scrollWidth > innerWidth ?
		[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((e) => e.tagName + "#" + e.id + "." + e.className).join(", ") || "the page" : ""`); wide != "" {
		p.t.Errorf("%v: wider than the page: %s", p.view, wide)
	}
}

// Picture writes a picture of the whole page to the folder of Pictures, if that is set.
func (p *Page) Picture(name string) {
	p.t.Helper()
	folder := os.Getenv(Pictures)
	if folder == "" {
		return
	}
	shot := run(p, chromedp.FullScreenshot(100))
	path := filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+"-"+p.view.String()+".png")
	err := os.MkdirAll(folder, 0o755)
	if err == nil {
		err = os.WriteFile(path, shot, 0o644)
	}
	if err != nil {
		p.t.Error(err)
	}
}
