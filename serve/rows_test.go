package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/weights"
)

// rowServer serves four rows of a model that adds up two numbers.
func rowServer(t *testing.T) *Server {
	t.Helper()
	s, err := New(Config{
		Title: "sums", Marks: filepath.Join(t.TempDir(), "marks.jsonl"), Nearest: 2, MaxBytes: 4096, Engine: reference.New(),
		Gallery: &gallery.Table{
			Embeddings: &eval.Embeddings{X: []float32{0, 10, 20, 25}, N: 4, H: 1}, Paths: []string{"none", "ten", "2", "most"},
			Classes: []string{"a", "b", "c", "d"},
		},
		Info: gallery.Info{Metric: "euclidean", Model: "ab", Dim: 1}, Width: 2,
		EmbedRow: func(_ context.Context, x []float32) ([]float32, error) { return []float32{x[0] + x[1]}, nil },
	})
	fatal(t, err)
	return s
}

// npy is a file of numbers of a shape.
func npy(t *testing.T, x []float32, shape ...int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.npy")
	a, err := weights.FromFloat32("x", shape, x)
	fatal(t, err)
	fatal(t, weights.WriteNPY(path, a))
	b, err := os.ReadFile(path)
	fatal(t, err)
	return b
}

func TestASearchByRows(t *testing.T) {
	s := rowServer(t)
	one := npy(t, []float32{4, 17}, 1, 2)
	for name, c := range map[string]struct {
		kind string
		body []byte
		rows [2]int
		near float64
	}{
		"a file of a row":        {bytesType, one, [2]int{2, 3}, 1},
		"a file of a vector":     {bytesType, npy(t, []float32{4, 5}, 2), [2]int{1, 0}, 1},
		"numbers":                {jsonType, []byte(`{"vector": [4, 5]}`), [2]int{1, 0}, 1},
		"a row of the gallery":   {jsonType, []byte(`{"row": 1}`), [2]int{0, 2}, 10}, // not itself
		"its key":                {jsonType, []byte(`{"key": "most"}`), [2]int{2, 1}, 5},
		"a key that is a number": {jsonType, []byte(`{"key": "2"}`), [2]int{3, 1}, 5},
		"a number for a key":     {jsonType, []byte(`{"key": "0"}`), [2]int{1, 2}, 10},
	} {
		w := ask(s, "POST", "/search", c.kind, c.body, nil)
		var res result
		if err := json.Unmarshal(w.Body.Bytes(), &res); err != nil || w.Code != http.StatusOK || len(res.Neighbors) != 2 {
			t.Errorf("%s: %d %s: %v", name, w.Code, w.Body, err)
			continue
		}
		if got := [2]int{res.Neighbors[0].Row, res.Neighbors[1].Row}; got != c.rows || res.Neighbors[0].Distance != c.near {
			t.Errorf("%s: rows %v, the nearest %v away, want %v and %v", name, got, res.Neighbors[0].Distance, c.rows, c.near)
		}
		mark := []byte(`{"query": "` + res.Query + `", "row": ` + string(rune('0'+c.rows[0])) + `, "right": true}`)
		if w := ask(s, "POST", "/mark", jsonType, mark, nil); w.Code != http.StatusOK {
			t.Errorf("%s: mark %d %s", name, w.Code, w.Body)
		}
	}
	for name, c := range map[string]struct {
		kind string
		body []byte
		code int
		says string
	}{
		"an image":                {"image/png", one, 415, "want a .npy file of one row as the body"},
		"no array":                {bytesType, []byte("P5"), 422, ""},
		"two rows":                {bytesType, npy(t, []float32{1, 2, 3, 4}, 2, 2), 422, "want one row"},
		"too many numbers":        {bytesType, npy(t, []float32{1, 2, 3}, 1, 3), 422, "the query has 3 numbers, the model takes rows of 2"},
		"a file cut off":          {bytesType, one[:len(one)-3], 422, ""},
		"a file too large":        {bytesType, npy(t, make([]float32, 2000), 2000), 413, "more than 4096 bytes"},
		"numbers beyond float32":  {jsonType, []byte(`{"vector": [1, 1e300]}`), 422, "number 1 of the query is +Inf"},
		"too few numbers":         {jsonType, []byte(`{"vector": [1]}`), 422, "has 1 numbers"},
		"a row beyond":            {jsonType, []byte(`{"row": 4}`), 404, "rows 0 to 3, not 4"},
		"a row below":             {jsonType, []byte(`{"row": -1}`), 404, "rows 0 to 3"},
		"a key of nothing":        {jsonType, []byte(`{"key": "x"}`), 404, `the key "x"`},
		"a number of nothing":     {jsonType, []byte(`{"key": "9"}`), 404, "rows 0 to 3"},
		"nothing asked":           {jsonType, []byte(`{}`), 400, "0 of row, key and vector"},
		"two things asked":        {jsonType, []byte(`{"row": 1, "key": "ten"}`), 400, "2 of row, key and vector"},
		"an unknown field":        {jsonType, []byte(`{"path": "x"}`), 400, "unknown field"},
		"more behind":             {jsonType, []byte(`{"row": 1}{}`), 400, "behind"},
		"a form from another one": {"text/plain", []byte(`{"row": 1}`), 415, "Content-Type"},
	} {
		if w := ask(s, "POST", "/search", c.kind, c.body, nil); w.Code != c.code || !strings.Contains(strings.ReplaceAll(w.Body.String(), `\"`, `"`), c.says) {
			t.Errorf("%s: %d %s, want %d with %q", name, w.Code, w.Body, c.code, c.says)
		}
	}
	if w := ask(s, "GET", "/image/1", "", nil, nil); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "no pictures") {
		t.Errorf("a picture of a row: %d %s", w.Code, w.Body)
	}
	if w := ask(s, "GET", "/about", "", nil, nil); !bytes.Contains(w.Body.Bytes(), []byte(`"width":2`)) {
		t.Errorf("about: %s", w.Body)
	}
}

// A gallery of images can be asked for its rows, and for no vector.
func TestASearchByARowOfAGalleryOfImages(t *testing.T) {
	s, _ := newServer(t, nil)
	var res result
	w := ask(s, "POST", "/search", jsonType, []byte(`{"key": "1.png"}`), nil)
	if err := json.Unmarshal(w.Body.Bytes(), &res); err != nil || len(res.Neighbors) != 3 || res.Neighbors[0].Row != 0 || res.Neighbors[0].Distance != 100 {
		t.Errorf("%d %s: %v", w.Code, w.Body, err)
	}
	if w := ask(s, "POST", "/search", jsonType, []byte(`{"vector": [1]}`), nil); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "takes images, not vectors") {
		t.Errorf("a vector: %d %s", w.Code, w.Body)
	}
}
