package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
)

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func gray(v uint8) image.Image {
	img := image.NewGray(image.Rect(0, 0, 8, 8))
	for i := range img.Pix {
		img.Pix[i] = v
	}
	return img
}

func pngOf(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	fatal(t, png.Encode(&b, img))
	return b.Bytes()
}

// newServer serves four gray pictures; the embedding of an image is the value
// of its first pixel.
func newServer(t *testing.T, change func(*Config)) (*Server, string) {
	t.Helper()
	values := []float32{0, 100, 200, 250}
	threshold := 15.0
	marks := filepath.Join(t.TempDir(), "marks.jsonl")
	cfg := Config{
		Title: "grays", Marks: marks, Threshold: &threshold, Nearest: 3, Engine: reference.New(),
		Gallery: &gallery.Table{
			Embeddings: &eval.Embeddings{X: values, N: 4, H: 1}, Paths: []string{"../secret/0.png", "1.png", "2.png", "<b>3.png"},
			Classes: []string{"black", "dark", "light", "white"}, Data: "grays",
		},
		Info:    gallery.Info{Metric: "euclidean", Model: "ab", Dim: 1},
		Embed:   func(_ context.Context, m *pixels.RGB) ([]float32, error) { return []float32{float32(m.Pix[0])}, nil },
		Picture: func(_ context.Context, row int) (image.Image, error) { return gray(uint8(values[row])), nil },
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	fatal(t, err)
	return s, marks
}

// ask sends a request to a server on this machine.
func ask(s *Server, method, path, kind string, body []byte, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:8321"+path, bytes.NewReader(body))
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func TestSearchAndMark(t *testing.T) {
	s, marks := newServer(t, nil)
	w := ask(s, "POST", "/search", "application/octet-stream", pngOf(t, gray(105)), nil)
	var res result
	if err := json.Unmarshal(w.Body.Bytes(), &res); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	for i, want := range []struct {
		row      int
		distance float64
		same     bool
	}{{1, 5, true}, {2, 95, false}, {0, 105, false}} {
		if n := res.Neighbors[i]; n.Row != want.row || n.Distance != want.distance || *n.Same != want.same {
			t.Errorf("rank %d: %+v, want %+v", i+1, n, want)
		}
	}
	if len(res.Neighbors) != 3 || res.Neighbors[0].Class != "dark" || res.Width != 8 {
		t.Errorf("%+v", res)
	}
	for _, right := range []bool{true, false} {
		w := ask(s, "POST", "/mark", "application/json", fmt.Appendf(nil, `{"query": %q, "name": "mine\n.png", "row": 2, "right": %t}`, res.Query, right), nil)
		if w.Code != http.StatusOK {
			t.Errorf("mark: %d %s", w.Code, w.Body)
		}
	}
	f, err := os.Open(marks)
	fatal(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	n := 0
	for ; lines.Scan(); n++ {
		var m Mark
		fatal(t, json.Unmarshal(lines.Bytes(), &m))
		if m.Query != res.Query || m.Name != "mine\n.png" || m.Row != 2 || m.Path != "2.png" || m.Class != "light" || m.Distance != 95 || m.Right != (n == 0) || m.Model != "ab" || m.Time.IsZero() {
			t.Errorf("kept %+v", m)
		}
	}
	if n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
}

func TestPageAndImages(t *testing.T) {
	s, _ := newServer(t, nil)
	for path, kind := range map[string]string{"/": "text/html", "/app.js": "text/javascript", "/style.css": "text/css", "/about": "application/json", "/image/3": "image/png"} {
		w := ask(s, "GET", path, "", nil, nil)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Header().Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	img, err := png.Decode(ask(s, "GET", "/image/2", "", nil, nil).Body)
	fatal(t, err)
	if got := color.GrayModel.Convert(img.At(4, 4)).(color.Gray).Y; got != 200 {
		t.Errorf("row 2 is of gray %d", got)
	}
}

// TestHostileRequestsAreRefused lists what a hostile page, program or neighbor
// might send.
func TestHostileRequestsAreRefused(t *testing.T) {
	good := pngOf(t, gray(1))
	s, marks := newServer(t, func(c *Config) { c.MaxBytes, c.MaxPixels = 4096, 1000 })
	w := ask(s, "POST", "/search", "image/png", good, nil)
	var res result
	fatal(t, json.Unmarshal(w.Body.Bytes(), &res))
	mark := func(text string) []byte { return []byte(strings.ReplaceAll(text, "QUERY", res.Query)) }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	large := image.NewGray(image.Rect(0, 0, 40, 40))
	for name, c := range map[string]struct {
		method, path, kind string
		body               []byte
		change             func(*http.Request)
		code               int
		says               string
	}{
		"another host":               {"GET", "/", "", nil, host("evil.example"), 403, "localhost only"},
		"another host with a port":   {"GET", "/image/0", "", nil, host("evil.example:8321"), 403, "localhost only"},
		"a name that only begins so": {"GET", "/", "", nil, host("localhost.evil.example"), 403, "localhost only"},
		"an address like loopback":   {"GET", "/", "", nil, host("127.0.0.1.evil.example"), 403, "localhost only"},
		"a private address":          {"GET", "/", "", nil, host("192.168.1.2"), 403, "localhost only"},
		"no host":                    {"GET", "/", "", nil, host(""), 403, "localhost only"},
		"another page's search":      {"POST", "/search", "image/png", good, header("Origin", "http://evil.example"), 403, ""},
		"another site's search":      {"POST", "/search", "image/png", good, header("Sec-Fetch-Site", "cross-site"), 403, ""},
		"another port's mark":        {"POST", "/mark", "application/json", mark(`{"query":"QUERY","row":0,"right":true}`), header("Origin", "http://localhost:1"), 403, ""},
		"a form":                     {"POST", "/search", "multipart/form-data; boundary=x", good, nil, 415, "Content-Type"},
		"a form of text":             {"POST", "/mark", "text/plain", mark(`{"query":"QUERY","row":0,"right":true}`), nil, 415, "application/json"},
		"no type":                    {"POST", "/search", "", good, nil, 415, "Content-Type"},
		"text for an image":          {"POST", "/search", "image/png", []byte("GIF? no"), nil, 415, "not an image"},
		"SVG":                        {"POST", "/search", "image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), nil, 415, "SVG"},
		"nothing":                    {"POST", "/search", "image/png", nil, nil, 415, "empty"},
		"a cut image":                {"POST", "/search", "image/png", good[:len(good)-20], nil, 422, "PNG"},
		"too many bytes":             {"POST", "/search", "image/png", make([]byte, 5000), nil, 413, "more than 4096 bytes"},
		"too many pixels":            {"POST", "/search", "image/png", pngOf(t, large), nil, 422, "40 x 40 pixels"},
		"a search by GET":            {"GET", "/search", "", nil, nil, 405, ""},
		"a row beyond":               {"GET", "/image/4", "", nil, nil, 404, "rows 0 to 3"},
		"a row below":                {"GET", "/image/-1", "", nil, nil, 404, "rows 0 to 3"},
		"a huge row":                 {"GET", "/image/99999999999999999999", "", nil, nil, 404, "rows 0 to 3"},
		"a path for a row":           {"GET", "/image/..%2f..%2fetc%2fpasswd", "", nil, nil, 404, "rows 0 to 3"},
		"a gallery's path":           {"GET", "/image/1.png", "", nil, nil, 404, "rows 0 to 3"},
		"a path upwards":             {"GET", "/../../etc/passwd", "", nil, nil, 307, ""},
		"a file of the server":       {"GET", "/server.go", "", nil, nil, 404, ""},
		"a mark of nothing searched": {"POST", "/mark", "application/json", []byte(`{"query":"00","row":0,"right":true}`), nil, 404, "search again"},
		"a mark of a row not found":  {"POST", "/mark", "application/json", mark(`{"query":"QUERY","row":3,"right":true}`), nil, 404, "row 3 is not among"},
		"a mark without a verdict":   {"POST", "/mark", "application/json", mark(`{"query":"QUERY","row":0}`), nil, 400, "want {"},
		"a mark with a path":         {"POST", "/mark", "application/json", mark(`{"query":"QUERY","row":0,"right":true,"path":"x"}`), nil, 400, "unknown field"},
		"two marks":                  {"POST", "/mark", "application/json", mark(`{"query":"QUERY","row":0,"right":true}{}`), nil, 400, "behind"},
		"a mark too long":            {"POST", "/mark", "application/json", mark(`{"query":"QUERY","row":0,"right":true,"name":"` + strings.Repeat("x", 5000) + `"}`), nil, 413, "4096"},
	} {
		w := ask(s, c.method, c.path, c.kind, c.body, c.change)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s, want %d with %q", name, w.Code, w.Body, c.code, c.says)
		}
		if strings.Contains(w.Body.String(), "root:") {
			t.Errorf("%s: a file of the machine was served", name)
		}
	}
	if _, err := os.Stat(marks); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused mark was kept: %v", err)
	}
	for _, name := range []string{"localhost", "localhost:80", "127.0.0.1:8321", "127.9.9.9", "[::1]:8321", "[::1]"} {
		if w := ask(s, "GET", "/about", "", nil, host(name)); w.Code != http.StatusOK {
			t.Errorf("host %s: %d", name, w.Code)
		}
	}
	open, _ := newServer(t, func(c *Config) { c.AnyHost = true })
	if w := ask(open, "GET", "/about", "", nil, host("server.example")); w.Code != http.StatusOK {
		t.Errorf("a server for elsewhere refuses its name: %d", w.Code)
	}
}

func TestATooLongQueueIsRefusedAndPicturesThatFailAreAnErrorWithoutTheirPlace(t *testing.T) {
	begun, finish := make(chan bool, waiting), make(chan bool)
	s, _ := newServer(t, func(c *Config) {
		c.Embed = func(context.Context, *pixels.RGB) ([]float32, error) {
			begun <- true
			<-finish
			return []float32{1}, nil
		}
		c.Picture = func(context.Context, int) (image.Image, error) { return nil, errors.New("/home/secret/1.png is gone") }
	})
	codes := make(chan int, waiting)
	for range waiting {
		go func() { codes <- ask(s, "POST", "/search", "image/png", pngOf(t, gray(1)), nil).Code }()
	}
	<-begun
	for len(s.seats) < waiting {
		time.Sleep(time.Millisecond)
	}
	if w := ask(s, "POST", "/search", "image/png", pngOf(t, gray(1)), nil); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("one too many: %d", w.Code)
	}
	close(finish)
	for range waiting {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a search that waited: %d", code)
		}
	}
	if w := ask(s, "GET", "/image/0", "", nil, nil); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("a picture that is gone: %d %s", w.Code, w.Body)
	}
}

func TestTheEndWaitsForRequestsThatHaveBegun(t *testing.T) {
	begun, finish := make(chan bool), make(chan bool)
	s, _ := newServer(t, func(c *Config) {
		c.Embed = func(context.Context, *pixels.RGB) ([]float32, error) {
			close(begun)
			<-finish
			return []float32{1}, nil
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	answered := make(chan error, 1)
	go func() {
		r, err := http.Post("http://"+l.Addr().String()+"/search", "image/png", bytes.NewReader(pngOf(t, gray(1))))
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
			if r.Body.Close(); r.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d", r.StatusCode)
			}
		}
		answered <- err
	}()
	<-begun
	cancel()
	close(finish)
	fatal(t, <-answered)
	fatal(t, <-ended)
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the server still listens")
	}
}

func TestOldSearchesAreForgotten(t *testing.T) {
	m := newMemory(2)
	for _, q := range []string{"a", "b", "a", "c"} {
		m.keep(&result{Query: q})
	}
	if _, ok := m.find("a"); ok {
		t.Error("the oldest is still there")
	}
	if _, ok := m.find("c"); !ok || len(m.result) != 2 || len(m.order) != 2 {
		t.Errorf("%d results", len(m.result))
	}
}

func TestConfigurationsThatCannotServeAreRefused(t *testing.T) {
	for name, c := range map[string]Config{"nothing": {}, "no rows": {Gallery: &gallery.Table{Embeddings: &eval.Embeddings{}}}} {
		if _, err := New(c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
