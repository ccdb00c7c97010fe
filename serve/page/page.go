// Package page is what people see of a service: a page on which one drops an image, sees
// the nearest images of the gallery, and marks them right or wrong. For a model of rows of
// features, one drops a .npy file of rows or pastes the numbers of one. Searches go to the
// service as those of programs do (package api).
package page

import (
	"embed"
	"fmt"
	"net/http"

	"github.com/vernier-ml/vernier/serve/api"
)

const (
	maxMarkBytes = 4 << 10
	remembered   = 256 // searches
)

//go:embed page.html app.js style.css
var files embed.FS

// Page answers the requests of the page alone.
type Page struct {
	model   string
	asked   *memory
	marks   *markFile
	noMarks string // why no mark can be kept, if so
	remarks []string
}

// New makes a page. marks is the file that marks are added to, a JSON object a line; model
// is the fingerprint that they name.
func New(marks, model string) *Page {
	p := &Page{model: model, asked: newMemory(remembered), marks: &markFile{path: marks, open: openAppended}}
	p.checkMarks()
	return p
}

// checkMarks finds out before somebody has marked anything whether it can be kept.
func (p *Page) checkMarks() {
	remark, err := p.marks.check()
	if err != nil {
		p.noMarks = fmt.Sprintf("marks cannot be kept: %v", err)
		remark = fmt.Sprintf("%s: %s", p.marks.path, p.noMarks)
	}
	if remark != "" {
		p.remarks = append(p.remarks, remark)
	}
}

// NoMarks says why marks cannot be kept; it is empty if they can.
func (p *Page) NoMarks() string { return p.noMarks }

// Remarks is what whoever starts the service should know.
func (p *Page) Remarks() []string { return p.remarks }

// Remember keeps what a search has found, so that it can be marked.
func (p *Page) Remember(found api.Result) { p.asked.keep(found) }

// Handlers returns what answers the requests of the page, by their patterns.
func (p *Page) Handlers() map[string]http.HandlerFunc {
	h := map[string]http.HandlerFunc{"GET /about": p.about, "POST /mark": p.mark}
	for pattern, file := range map[string][2]string{
		"GET /{$}":       {"page.html", "text/html; charset=utf-8"},
		"GET /app.js":    {"app.js", "text/javascript; charset=utf-8"},
		"GET /style.css": {"style.css", "text/css; charset=utf-8"},
	} {
		h[pattern] = func(w http.ResponseWriter, _ *http.Request) { send(w, file[0], file[1]) }
	}
	return h
}

// Style is the style sheet of the page, for other pages of the service.
const Style = "style.css"

func send(w http.ResponseWriter, name, kind string) {
	text, err := files.ReadFile(name)
	if err != nil {
		api.Fail(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(text) // the client has gone
}

// about says what the page needs to know beside what the service tells every program.
func (p *Page) about(w http.ResponseWriter, _ *http.Request) {
	api.Reply(w, map[string]string{"no_marks": p.noMarks})
}
