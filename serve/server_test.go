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
	"github.com/vernier-ml/vernier/serve/api"
	"github.com/vernier-ml/vernier/serve/page"
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

const token = "0123456789abcdef"

// grays are the values of the pictures of newServer by their paths.
var grays = map[string]uint8{"../secret/0.png": 0, "1.png": 100, "2.png": 200, "<b>3.png": 250}

// storeOf makes an index of rows of one number.
func storeOf(t *testing.T, paths, classes []string, values ...float32) gallery.Store {
	t.Helper()
	path, info := filepath.Join(t.TempDir(), "g.index"), gallery.Info{Metric: "euclidean", Model: "ab", Dim: 1}
	if len(values) > 0 {
		fatal(t, gallery.Create(path, info, &gallery.Table{
			Embeddings: &eval.Embeddings{X: values, N: len(values), H: 1}, Paths: paths, Classes: classes, Metric: info.Metric, Model: info.Model,
		}))
	}
	store, err := gallery.OpenFile(path, info, reference.New())
	fatal(t, err)
	t.Cleanup(func() { fatal(t, store.Close()) })
	return store
}

// embedGray embeds an image as the value of its first pixel.
func embedGray(ctx context.Context, queries []Query) ([][]float32, []error) {
	rows, errs := make([][]float32, len(queries)), make([]error, len(queries))
	decoder := pixels.NewDecoder(pixels.Options{MaxPixels: 1000})
	for i, q := range queries {
		img, err := decoder.Decode(ctx, q.File)
		if err != nil {
			errs[i] = &QueryError{err}
			continue
		}
		rows[i] = []float32{float32(img.Pix[0])}
	}
	return rows, errs
}

// newServer serves four gray pictures; the embedding of an image is the value
// of its first pixel.
func newServer(t *testing.T, change func(*Config)) (s *Server, marks string) {
	t.Helper()
	threshold := 15.0
	marks = filepath.Join(t.TempDir(), "marks.jsonl")
	cfg := Config{
		Title: "grays", Data: "grays", Threshold: &threshold, Embed: embedGray, Page: page.New(marks, "ab"), Tokens: []string{token},
		Picture: func(_ context.Context, path string) (image.Image, error) {
			if v, ok := grays[path]; ok {
				return gray(v), nil
			}
			return nil, ErrNoPicture
		},
	}
	if change != nil {
		change(&cfg)
	}
	if cfg.Gallery == nil {
		cfg.Gallery = storeOf(t, []string{"../secret/0.png", "1.png", "2.png", "<b>3.png"}, []string{"black", "dark", "light", "white"}, 0, 100, 200, 250)
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

// answered reads the answer to a request, which must be 200.
func answered[T any](t *testing.T, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	if w.Code != http.StatusOK || d.Decode(&v) != nil {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return v
}

func withToken(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }

func TestSearchAndMark(t *testing.T) {
	s, marks := newServer(t, nil)
	found := answered[api.Found](t, ask(s, "POST", "/v1/search?k=3", "application/octet-stream", pngOf(t, gray(105)), nil))
	res := found.Results[0]
	for i, want := range []struct {
		path, class string
		distance    float64
		same        bool
	}{{"1.png", "dark", 5, true}, {"2.png", "light", 95, false}, {"../secret/0.png", "black", 105, false}} {
		if n := res.Neighbors[i]; n.Path != want.path || n.Class != want.class || n.Distance != want.distance || *n.Same != want.same {
			t.Errorf("rank %d: %+v, want %+v", i+1, n, want)
		}
	}
	if len(found.Results) != 1 || len(res.Neighbors) != 3 || found.Next != 3 || found.Rows != 4 {
		t.Errorf("%+v", found)
	}
	for _, right := range []bool{true, false} {
		w := ask(s, "POST", "/mark", "application/json", fmt.Appendf(nil, `{"query": %q, "name": "mine\n.png", "key": "path:2.png", "right": %t}`, res.Query, right), nil)
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
		var m page.Mark
		fatal(t, json.Unmarshal(lines.Bytes(), &m))
		if m.Query != res.Query || m.Name != "mine\n.png" || m.Key != "path:2.png" || m.Path != "2.png" || m.Class != "light" || m.Distance != 95 || m.Right != (n == 0) || m.Model != "ab" || m.Time.IsZero() {
			t.Errorf("kept %+v", m)
		}
	}
	if n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
}

func TestPageAndImages(t *testing.T) {
	s, _ := newServer(t, nil)
	for path, kind := range map[string]string{
		"/": "text/html", "/app.js": "text/javascript", "/style.css": "text/css", "/about": "application/json", "/v1/info": "application/json",
		"/v1/picture?key=path:1.png": "image/png", "/docs": "text/html", "/openapi.json": "application/json", "/healthz": "text/plain", "/readyz": "text/plain", "/metrics": "text/plain",
	} {
		w := ask(s, "GET", path, "", nil, nil)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Header().Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	w := ask(s, "GET", "/v1/picture?key=path:2.png", "", nil, nil)
	img, err := png.Decode(w.Body)
	fatal(t, err)
	if got := color.GrayModel.Convert(img.At(4, 4)).(color.Gray).Y; got != 200 {
		t.Errorf("2.png is of gray %d", got)
	}
	again := ask(s, "GET", "/v1/picture?key=path:2.png", "", nil, func(r *http.Request) { r.Header.Set("If-None-Match", w.Header().Get("ETag")) })
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("a picture that the browser has: %d with %d bytes", again.Code, again.Body.Len())
	}
}

// TestHostileRequestsAreRefused lists what a hostile page, program or neighbor
// might send.
func TestHostileRequestsAreRefused(t *testing.T) {
	good := pngOf(t, gray(1))
	s, marks := newServer(t, func(c *Config) { c.MaxBytes, c.MaxPixels = 4096, 1000 })
	query := answered[api.Found](t, ask(s, "POST", "/v1/search?k=2", "image/png", good, nil)).Results[0].Query
	mark := func(text string) []byte { return []byte(strings.ReplaceAll(text, "QUERY", query)) }
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
		"another host with a port":   {"GET", "/v1/picture", "", nil, host("evil.example:8321"), 403, "localhost only"},
		"a name that only begins so": {"GET", "/", "", nil, host("localhost.evil.example"), 403, "localhost only"},
		"an address like loopback":   {"GET", "/", "", nil, host("127.0.0.1.evil.example"), 403, "localhost only"},
		"a private address":          {"GET", "/", "", nil, host("192.168.1.2"), 403, "localhost only"},
		"no host":                    {"GET", "/", "", nil, host(""), 403, "localhost only"},
		"another page's search":      {"POST", "/v1/search", "image/png", good, header("Origin", "http://evil.example"), 403, ""},
		"another site's search":      {"POST", "/v1/search", "image/png", good, header("Sec-Fetch-Site", "cross-site"), 403, ""},
		"another site's form":        {"POST", "/v1/search", "multipart/form-data; boundary=x", good, header("Sec-Fetch-Site", "cross-site"), 403, ""},
		"another port's mark":        {"POST", "/mark", "application/json", mark(`{"query":"QUERY","key":"path:1.png","right":true}`), header("Origin", "http://localhost:1"), 403, ""},
		"a form of text":             {"POST", "/mark", "text/plain", mark(`{"query":"QUERY","key":"path:1.png","right":true}`), nil, 415, "application/json"},
		"no type":                    {"POST", "/v1/search", "", good, nil, 415, "Content-Type"},
		"a type of text":             {"POST", "/v1/search", "text/plain", good, nil, 415, "Content-Type"},
		"text for an image":          {"POST", "/v1/search", "image/png", []byte("GIF? no"), nil, 415, "not an image"},
		"SVG":                        {"POST", "/v1/search", "image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), nil, 415, "SVG"},
		"nothing":                    {"POST", "/v1/search", "image/png", nil, nil, 415, "empty"},
		"a cut image":                {"POST", "/v1/search", "image/png", good[:len(good)-20], nil, 422, "PNG"},
		"too many bytes":             {"POST", "/v1/search", "image/png", make([]byte, 5000), nil, 413, "more than 4096 bytes"},
		"too many pixels":            {"POST", "/v1/search", "image/png", pngOf(t, large), nil, 422, "40 x 40 pixels"},
		"a search by GET":            {"GET", "/v1/search", "", nil, nil, 405, ""},
		"a row that is not there":    {"GET", "/v1/picture?key=4", "", nil, nil, 404, "no row of the gallery"},
		"a path for a key":           {"GET", "/v1/picture?key=..%2f..%2fetc%2fpasswd", "", nil, nil, 404, "no row of the gallery"},
		"a gallery's path":           {"GET", "/v1/picture?key=1.png", "", nil, nil, 404, "no row of the gallery"},
		"a path upwards":             {"GET", "/../../etc/passwd", "", nil, nil, 307, ""},
		"a file of the server":       {"GET", "/server.go", "", nil, nil, 404, ""},
		"a mark of nothing searched": {"POST", "/mark", "application/json", []byte(`{"query":"00","key":"path:1.png","right":true}`), nil, 404, "search again"},
		"a mark of a row not found":  {"POST", "/mark", "application/json", mark(`{"query":"QUERY","key":"path:2.png","right":true}`), nil, 404, "is not among"},
		"a mark without a verdict":   {"POST", "/mark", "application/json", mark(`{"query":"QUERY","key":"path:1.png"}`), nil, 400, "want {"},
		"a mark with a path":         {"POST", "/mark", "application/json", mark(`{"query":"QUERY","key":"path:1.png","right":true,"path":"x"}`), nil, 400, "unknown field"},
		"two marks":                  {"POST", "/mark", "application/json", mark(`{"query":"QUERY","key":"path:1.png","right":true}{}`), nil, 400, "behind"},
		"a mark too long":            {"POST", "/mark", "application/json", mark(`{"query":"QUERY","key":"path:1.png","right":true,"name":"` + strings.Repeat("x", 5000) + `"}`), nil, 413, "4096"},
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
		if w := ask(s, "GET", "/v1/info", "", nil, host(name)); w.Code != http.StatusOK {
			t.Errorf("host %s: %d", name, w.Code)
		}
	}
	open, _ := newServer(t, func(c *Config) { c.AnyHost = true })
	if w := ask(open, "GET", "/v1/info", "", nil, host("server.example")); w.Code != http.StatusOK {
		t.Errorf("a server for elsewhere refuses its name: %d", w.Code)
	}
}

// blocked is an embedding that waits until finish is closed.
func blocked() (embed func(context.Context, []Query) ([][]float32, []error), begun, finish chan bool) {
	begun, finish = make(chan bool, 64), make(chan bool)
	return func(_ context.Context, q []Query) ([][]float32, []error) {
		begun <- true
		<-finish
		rows := make([][]float32, len(q))
		for i := range rows {
			rows[i] = []float32{1}
		}
		return rows, make([]error, len(q))
	}, begun, finish
}

func TestATooLongQueueIsRefusedAndPicturesThatFailAreAnErrorWithoutTheirPlace(t *testing.T) {
	const waiting = 8
	embed, begun, finish := blocked()
	s, _ := newServer(t, func(c *Config) {
		c.Embed, c.Waiting = embed, waiting
		c.Picture = func(context.Context, string) (image.Image, error) {
			return nil, errors.New("/home/secret/1.png is gone")
		}
	})
	codes := make(chan int, waiting)
	for range waiting {
		go func() { codes <- ask(s, "POST", "/v1/search", "image/png", pngOf(t, gray(1)), nil).Code }()
	}
	<-begun
	for s.seats.taken.Load() < waiting {
		time.Sleep(time.Millisecond)
	}
	for _, w := range []*httptest.ResponseRecorder{
		ask(s, "POST", "/v1/search", "image/png", pngOf(t, gray(1)), nil),
		ask(s, "PUT", "/v1/images?path=x", "image/png", pngOf(t, gray(1)), withToken),
	} {
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("one too many: %d", w.Code)
		}
	}
	if w := ask(s, "GET", "/readyz", "", nil, nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("ready: %d", w.Code)
	}
	if w := ask(s, "GET", "/healthz", "", nil, nil); w.Code != http.StatusOK {
		t.Errorf("healthy: %d", w.Code)
	}
	close(finish)
	for range waiting {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a search that waited: %d", code)
		}
	}
	if w := ask(s, "GET", "/v1/picture?key=path:1.png", "", nil, nil); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("a picture that is gone: %d %s", w.Code, w.Body)
	}
}

func TestTheEndWaitsForRequestsThatHaveBegun(t *testing.T) {
	embed, begun, finish := blocked()
	s, _ := newServer(t, func(c *Config) { c.Embed = embed })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, nil) }()
	answered := make(chan error, 1)
	go func() {
		r, err := http.Post("http://"+l.Addr().String()+"/v1/search", "image/png", bytes.NewReader(pngOf(t, gray(1))))
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

func TestConfigurationsThatCannotServeAreRefused(t *testing.T) {
	store := storeOf(t, nil, nil)
	for name, c := range map[string]Config{
		"nothing": {}, "no embedding": {Gallery: store}, "a token too short": {Gallery: store, Embed: embedGray, Tokens: []string{"secret"}},
		"fewer than no queries": {Gallery: store, Embed: embedGray, Waiting: -1},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
