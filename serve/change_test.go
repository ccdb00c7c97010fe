package serve

import (
	"bytes"
	"context"
	"errors"
	"image/color"
	"image/png"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/serve/api"
)

// nearestTo is the path of the row that is nearest to a gray, and the number of rows.
func nearestTo(t *testing.T, s *Server, v uint8) (path string, rows int) {
	t.Helper()
	found := answered[api.Found](t, ask(s, "POST", "/v1/search?k=1", "image/png", pngOf(t, gray(v)), nil))
	return found.Results[0].Neighbors[0].Path, found.Rows
}

func TestPutReplaceAndDelete(t *testing.T) {
	keep := filepath.Join(t.TempDir(), "keep")
	s, _ := newServer(t, func(c *Config) { c.Kept = keep })
	put := func(path string, v uint8) api.Changed {
		t.Helper()
		return answered[api.Changed](t, ask(s, "PUT", "/v1/images?class=mid&path="+path, "image/png", pngOf(t, gray(v)), withToken))
	}
	if c := put("mid/1.png", 150); c != (api.Changed{Added: 1, Rows: 5}) {
		t.Errorf("added: %+v", c)
	}
	if path, rows := nearestTo(t, s, 151); path != "mid/1.png" || rows != 5 {
		t.Errorf("found %s of %d rows", path, rows)
	}
	if c := put("mid/1.png", 150); c != (api.Changed{Unchanged: 1, Rows: 5}) {
		t.Errorf("the same once more: %+v", c)
	}
	old := Query{File: pngOf(t, gray(150))}.hash()
	if w := ask(s, "GET", "/v1/picture?key="+old, "", nil, nil); w.Code != http.StatusOK {
		t.Errorf("its picture: %d %s", w.Code, w.Body)
	}
	if c := put("mid/1.png", 30); c != (api.Changed{Replaced: 1, Rows: 5}) {
		t.Errorf("another image at the path: %+v", c)
	}
	if path, _ := nearestTo(t, s, 151); path == "mid/1.png" {
		t.Error("the old row is found still")
	}
	if _, err := s.kept.read(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the replaced image: %v", err)
	}
	if w := ask(s, "GET", "/v1/picture?key="+old, "", nil, nil); w.Code != http.StatusNotFound {
		t.Errorf("the picture of the replaced row: %d", w.Code)
	}
	key := Query{File: pngOf(t, gray(30))}.hash()
	img, err := png.Decode(ask(s, "GET", "/v1/picture?key="+key, "", nil, nil).Body)
	fatal(t, err)
	if got := color.GrayModel.Convert(img.At(4, 4)).(color.Gray).Y; got != 30 {
		t.Errorf("the picture is of gray %d, want 30", got)
	}
	// The same image under another path is the same row, which has moved.
	if c := put("moved.png", 30); c != (api.Changed{Replaced: 1, Rows: 5}) {
		t.Errorf("the same image at another path: %+v", c)
	}
	if path, _ := nearestTo(t, s, 30); path != "moved.png" {
		t.Errorf("found %s", path)
	}
	kind, body := form(t, map[string][]byte{"x/1.png": pngOf(t, gray(60)), "x/2.png": pngOf(t, gray(70))}, map[string]string{"class": "x"})
	if c := answered[api.Changed](t, ask(s, "PUT", "/v1/images", kind, body, withToken)); c != (api.Changed{Added: 2, Rows: 7}) {
		t.Errorf("a form: %+v", c)
	}
	if path, _ := nearestTo(t, s, 61); path != "x/1.png" {
		t.Errorf("found %s", path)
	}
	if c := answered[api.Changed](t, ask(s, "PUT", "/v1/images", "application/json", []byte(`{"rows": [{"path": "v", "class": "x", "vector": [77]}]}`), withToken)); c != (api.Changed{Added: 1, Rows: 8}) {
		t.Errorf("a vector: %+v", c)
	}
	for _, c := range []struct {
		url, body string
		want      api.Changed
	}{
		{"/v1/images?path=moved.png&path=nothing", "", api.Changed{Deleted: 1, Rows: 7}},
		{"/v1/images?key=path:v", "", api.Changed{Deleted: 1, Rows: 6}},
		{"/v1/images", `{"paths": ["1.png", "2.png"]}`, api.Changed{Deleted: 2, Rows: 4}},
		{"/v1/images?class=x", "", api.Changed{Deleted: 2, Rows: 2}},
		{"/v1/images?class=x", "", api.Changed{Rows: 2}},
	} {
		if got := answered[api.Changed](t, ask(s, "DELETE", c.url, "application/json", []byte(c.body), withToken)); got != c.want {
			t.Errorf("%s %s: %+v, want %+v", c.url, c.body, got, c.want)
		}
	}
	files, err := filepath.Glob(filepath.Join(keep, "*", "*"))
	if err != nil || len(files) != 0 {
		t.Errorf("the images of deleted rows are there still: %q, %v", files, err)
	}
}

func TestChangesThatAreRefused(t *testing.T) {
	s, _ := newServer(t, nil)
	good := pngOf(t, gray(9))
	bearer := func(text string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", text) }
	}
	for name, c := range map[string]struct {
		method, path, kind string
		body               []byte
		change             func(*http.Request)
		code               int
		says               string
	}{
		"no token":                  {"PUT", "/v1/images?path=x", "image/png", good, nil, 401, "Authorization: Bearer TOKEN"},
		"a wrong token":             {"PUT", "/v1/images?path=x", "image/png", good, bearer("Bearer 0123456789abcdeg"), 401, "Bearer"},
		"a token and more":          {"DELETE", "/v1/images?path=1.png", "", nil, bearer("Bearer " + token + " "), 401, "Bearer"},
		"a token without its kind":  {"DELETE", "/v1/images?path=1.png", "", nil, bearer(token), 401, "Bearer"},
		"another site's page":       {"PUT", "/v1/images?path=x", "image/png", good, func(r *http.Request) { withToken(r); r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403, ""},
		"a path from the root":      {"PUT", "/v1/images?path=/etc/passwd", "image/png", good, withToken, 400, "does not begin with /"},
		"a path upwards":            {"PUT", "/v1/images?path=a/../../b", "image/png", good, withToken, 400, "no .."},
		"a path too long":           {"PUT", "/v1/images?path=" + strings.Repeat("x", 1025), "image/png", good, withToken, 400, "at most 1024 bytes"},
		"a path of no characters":   {"PUT", "/v1/images?path=%ff", "image/png", good, withToken, 400, "valid UTF-8"},
		"a class of no characters":  {"PUT", "/v1/images?path=x&class=%ff", "image/png", good, withToken, 400, "the class of row 0"},
		"no image":                  {"PUT", "/v1/images?path=x", "image/png", []byte("hello"), withToken, 415, "not an image"},
		"an unknown parameter":      {"PUT", "/v1/images?name=x", "image/png", good, withToken, 400, "there is: path, class"},
		"no rows":                   {"PUT", "/v1/images", "application/json", []byte(`{"rows": []}`), withToken, 400, "0 rows, want 1 to 64"},
		"a row of nothing":          {"PUT", "/v1/images", "application/json", []byte(`{"rows": [{"path": "x"}]}`), withToken, 400, "one of vector and features"},
		"a row without a path":      {"PUT", "/v1/images", "application/json", []byte(`{"rows": [{"vector": [1]}]}`), withToken, 400, "has no path"},
		"a row too long":            {"PUT", "/v1/images", "application/json", []byte(`{"rows": [{"path": "x", "vector": [1, 2]}]}`), withToken, 400, "vector 0 has 2 numbers"},
		"a path twice":              {"PUT", "/v1/images", "application/json", []byte(`{"rows": [{"path": "x", "vector": [1]}, {"path": "x", "vector": [2]}]}`), withToken, 400, "given twice"},
		"nothing to delete":         {"DELETE", "/v1/images", "", nil, withToken, 400, "which rows?"},
		"two kinds of names":        {"DELETE", "/v1/images?path=1.png&class=dark", "", nil, withToken, 400, "which rows?"},
		"names in URL and body":     {"DELETE", "/v1/images?path=1.png", "application/json", []byte(`{"class": "dark"}`), withToken, 400, "not in both"},
		"an unknown field":          {"DELETE", "/v1/images", "application/json", []byte(`{"all": true}`), withToken, 400, "unknown field"},
		"an empty list":             {"DELETE", "/v1/images", "application/json", []byte(`{"paths": []}`), withToken, 400, "which rows?"},
		"an empty class":            {"DELETE", "/v1/images?class=", "", nil, withToken, 400, "which rows?"},
		"two classes":               {"DELETE", "/v1/images?class=dark&class=light", "", nil, withToken, 400, "which rows?"},
		"a body beyond the maximum": {"PUT", "/v1/images?path=x", "image/png", make([]byte, 21<<20), withToken, 413, "more than"},
	} {
		w := ask(s, c.method, c.path, c.kind, c.body, c.change)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s, want %d with %q", name, w.Code, w.Body, c.code, c.says)
		}
		if w.Code == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", name)
		}
	}
	if _, rows := nearestTo(t, s, 0); rows != 4 {
		t.Errorf("the gallery has %d rows after refusals", rows)
	}
	closed, _ := newServer(t, func(c *Config) { c.Tokens = nil })
	if w := ask(closed, "DELETE", "/v1/images?path=1.png", "", nil, withToken); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "without a file of tokens") {
		t.Errorf("without tokens: %d %s", w.Code, w.Body)
	}
	if answered[api.Info](t, ask(closed, "GET", "/v1/info", "", nil, nil)).Changes {
		t.Error("without tokens the service says that it takes changes")
	}
}

// failing is a store whose changes fail.
type failing struct{ gallery.Store }

func (failing) Upsert(context.Context, *gallery.Table) (gallery.Changes, error) {
	return gallery.Changes{}, errors.New("the disk is full")
}

// What is not kept is not acknowledged.
func TestWhatIsNotKeptIsNotAcknowledged(t *testing.T) {
	s, _ := newServer(t, func(c *Config) {
		c.Gallery = failing{storeOf(t, []string{"1.png"}, []string{"a"}, 100)}
	})
	if w := ask(s, "PUT", "/v1/images?path=x", "image/png", pngOf(t, gray(9)), withToken); w.Code != http.StatusInternalServerError || !bytes.Contains(w.Body.Bytes(), []byte("the disk is full")) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if _, rows := nearestTo(t, s, 9); rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

// Rows that another process puts into the file are found by the next search.
func TestAGalleryGrowsFromOutside(t *testing.T) {
	store := storeOf(t, []string{"1.png"}, []string{"a"}, 100)
	s, _ := newServer(t, func(c *Config) { c.Gallery = store })
	if path, rows := nearestTo(t, s, 9); path != "1.png" || rows != 1 {
		t.Errorf("%s of %d rows", path, rows)
	}
	other := storeOf(t, []string{"2.png"}, []string{"a"}, 10)
	more, err := other.Get(t.Context(), []string{"path:2.png"})
	fatal(t, err)
	_, err = store.Upsert(t.Context(), more)
	fatal(t, err)
	// The number of rows is that of a moment ago.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		path, rows := nearestTo(t, s, 9)
		if path != "2.png" || rows != 2 && time.Now().After(end) {
			t.Fatalf("%s of %d rows", path, rows)
		}
		if rows == 2 {
			break
		}
	}
}
