package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vernier-ml/vernier/serve/api"
)

// Mark is a line of the file of marks: what somebody thinks of an image that
// was found.
type Mark struct {
	Time     time.Time `json:"time"`
	Query    string    `json:"query"` // SHA-256 of the image that was searched for
	Name     string    `json:"name"`  // of its file, as the browser says
	Key      string    `json:"key"`   // of the row
	Path     string    `json:"path"`
	Class    string    `json:"class"`
	Distance float64   `json:"distance"`
	Right    bool      `json:"right"`
	Model    string    `json:"model"` // its fingerprint
}

// memory holds the results of the latest searches, which marks refer to.
type memory struct {
	mu     sync.Mutex
	limit  int
	order  []string
	result map[string]api.Result
}

func newMemory(limit int) *memory { return &memory{limit: limit, result: map[string]api.Result{}} }

func (m *memory) keep(r api.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.result[r.Query]; !ok {
		m.order = append(m.order, r.Query)
	}
	m.result[r.Query] = r
	if len(m.order) > m.limit {
		delete(m.result, m.order[0])
		m.order = slices.Delete(m.order, 0, 1)
	}
}

func (m *memory) find(query string) (api.Result, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.result[query]
	return r, ok
}

// maxName is the longest name of a file that is kept, in bytes.
const maxName = 255

// mark keeps what somebody thinks of an image that a search found.
func (p *Page) mark(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		api.Fail(w, http.StatusUnsupportedMediaType, errors.New("want Content-Type application/json"))
		return
	}
	var in struct {
		Query string `json:"query"`
		Name  string `json:"name"`
		Key   string `json:"key"`
		Right *bool  `json:"right"`
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMarkBytes))
	d.DisallowUnknownFields()
	err := d.Decode(&in)
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		api.Fail(w, http.StatusRequestEntityTooLarge, fmt.Errorf("a mark has at most %d bytes", large.Limit))
		return
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is something behind it")
		}
	}
	if err != nil || in.Key == "" || in.Right == nil {
		api.Fail(w, http.StatusBadRequest, errors.Join(errors.New(`want {"query": HASH, "name": TEXT, "key": TEXT, "right": true or false}`), err))
		return
	}
	res, ok := p.asked.find(in.Query)
	if !ok {
		api.Fail(w, http.StatusNotFound, errors.New("this image was not searched for lately: search again"))
		return
	}
	i := slices.IndexFunc(res.Neighbors, func(n api.Neighbor) bool { return n.Key == in.Key })
	if i < 0 {
		api.Fail(w, http.StatusNotFound, fmt.Errorf("the row %q is not among those that were found", in.Key))
		return
	}
	n := res.Neighbors[i]
	m := Mark{time.Now().UTC(), res.Query, strings.ToValidUTF8(in.Name[:min(len(in.Name), maxName)], ""), n.Key, n.Path, n.Class, n.Distance, *in.Right, p.model}
	if err := p.marks.add(m); err != nil {
		api.Fail(w, http.StatusInternalServerError, fmt.Errorf("the mark was not kept: %w", err))
		return
	}
	api.Reply(w, m)
}
