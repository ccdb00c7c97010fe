package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/serve/api"
	"github.com/vernier-ml/vernier/weights"
)

// form is a form of files called image and of fields.
func form(t *testing.T, files map[string][]byte, fields map[string]string) (kind string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, content := range files {
		part, err := w.CreateFormFile("image", name)
		fatal(t, err)
		_, err = part.Write(content)
		fatal(t, err)
	}
	for name, value := range fields {
		fatal(t, w.WriteField(name, value))
	}
	fatal(t, w.Close())
	return w.FormDataContentType(), b.Bytes()
}

// paths are those of what was found.
func paths(r api.Result) string {
	var list []string
	for _, n := range r.Neighbors {
		list = append(list, n.Path)
	}
	return strings.Join(list, " ")
}

// Rows a0 to a9 and b0 to b9 have the numbers 0 to 9 and 0.5 to 9.5.
func twenty(t *testing.T) *Server {
	t.Helper()
	var names, classes []string
	var values []float32
	for i := range 10 {
		names, classes = append(names, fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)), append(classes, "a", "b")
		values = append(values, float32(i), float32(i)+0.5)
	}
	s, _ := newServer(t, func(c *Config) { c.Gallery = storeOf(t, names, classes, values...) })
	return s
}

func TestEveryFormOfASearchFindsTheSame(t *testing.T) {
	s := twenty(t)
	three := pngOf(t, gray(3))
	kind, body := form(t, map[string][]byte{"q.png": three}, map[string]string{"k": "3", "class": "b", "offset": "1"})
	for name, c := range map[string]struct {
		path, kind string
		body       []byte
	}{
		"an image":   {"/v1/search?k=3&class=b&offset=1", "image/png", three},
		"a form":     {"/v1/search", kind, body},
		"a vector":   {"/v1/search", "application/json", []byte(`{"vector": [3], "k": 3, "class": "b", "offset": 1}`)},
		"vectors":    {"/v1/search", "application/json; charset=utf-8", []byte(`{"vectors": [[3]], "k": 3, "class": "b", "offset": 1}`)},
		"a row":      {"/v1/search", "application/json", []byte(`{"path": "a3", "k": 3, "class": "b", "offset": 1}`)},
		"its key":    {"/v1/search", "application/json", []byte(`{"key": "path:a3", "k": 3, "class": "b", "offset": 1}`)},
		"many bytes": {"/v1/search?k=3&class=b&offset=1", "application/octet-stream", three},
	} {
		found := answered[api.Found](t, ask(s, "POST", c.path, c.kind, c.body, nil))
		// b2 and b3 are 0.5 away, in the order of their keys.
		if got := paths(found.Results[0]); got != "b3 b1 b4" || found.Next != 4 || found.Rows != 20 {
			t.Errorf("%s: found %s, next %d of %d rows", name, got, found.Next, found.Rows)
		}
	}
	// A row does not find itself, but for its equal.
	if got := paths(answered[api.Found](t, ask(s, "POST", "/v1/search", "application/json", []byte(`{"path": "a0", "k": 2}`), nil)).Results[0]); got != "b0 a1" {
		t.Errorf("the row a0 finds %s", got)
	}
	if got := paths(answered[api.Found](t, ask(s, "POST", "/v1/search", "application/json", []byte(`{"vector": [0], "k": 2}`), nil)).Results[0]); got != "a0 b0" {
		t.Errorf("the numbers of a0 find %s", got)
	}
}

func TestBatchesAndPages(t *testing.T) {
	s := twenty(t)
	found := answered[api.Found](t, ask(s, "POST", "/v1/search", "application/json", []byte(`{"vectors": [[9], [0]], "k": 2}`), nil))
	if len(found.Results) != 2 || paths(found.Results[0]) != "a9 b8" || paths(found.Results[1]) != "a0 b0" {
		t.Errorf("two vectors: %+v", found)
	}
	kind, body := form(t, map[string][]byte{"q.png": pngOf(t, gray(9)), "r.png": pngOf(t, gray(9))}, nil)
	found = answered[api.Found](t, ask(s, "POST", "/v1/search", kind, body, nil))
	if len(found.Results) != 2 || len(found.Results[0].Neighbors) != api.DefaultK || paths(found.Results[0]) != paths(found.Results[1]) {
		t.Errorf("two images: %+v", found)
	}
	// Pages of 7 hold every row once, nearest first.
	seen, next, last := map[string]bool{}, 0, -1.0
	for page := 0; page == 0 || next > 0; page++ {
		found := answered[api.Found](t, ask(s, "POST", "/v1/search", "application/json", fmt.Appendf(nil, `{"vector": [-1], "k": 7, "offset": %d}`, next), nil))
		for _, n := range found.Results[0].Neighbors {
			if seen[n.Path] || n.Distance < last {
				t.Errorf("page %d: %+v", page, n)
			}
			seen[n.Path], last = true, n.Distance
		}
		if want := []int{7, 14, 0}[page]; found.Next != want {
			t.Errorf("page %d: next %d, want %d", page, found.Next, want)
		}
		next = found.Next
	}
	if len(seen) != 20 {
		t.Errorf("the pages hold %d rows", len(seen))
	}
	if found := answered[api.Found](t, ask(s, "POST", "/v1/search", "application/json", []byte(`{"vector": [1], "class": "c"}`), nil)); len(found.Results[0].Neighbors) != 0 || found.Next != 0 {
		t.Errorf("a class of nothing: %+v", found)
	}
}

func TestSearchesThatAskForWhatIsNotThere(t *testing.T) {
	s := twenty(t)
	png := pngOf(t, gray(3))
	two, body := form(t, map[string][]byte{"q.png": png}, map[string]string{"klass": "b"})
	none, noBody := form(t, nil, map[string]string{"k": "1"})
	list := func(n int) string { return strings.TrimSuffix(strings.Repeat("[1],", n), ",") }
	for name, c := range map[string]struct {
		path, kind, body string
		code             int
		says             string
	}{
		"an unknown parameter":      {"/v1/search?klass=b", "image/png", string(png), 400, `no parameter "klass" here; there is: k, offset, class; did you mean class?`},
		"a parameter twice":         {"/v1/search?k=1&k=2", "image/png", string(png), 400, "given 2 times"},
		"a parameter beside JSON":   {"/v1/search?k=1", "application/json", `{"vector": [1]}`, 400, "stand in it"},
		"a parameter beside a form": {"/v1/search?k=1", two, string(body), 400, "fields of it"},
		"an unknown part":           {"/v1/search", two, string(body), 400, `"klass"`},
		"a form without an image":   {"/v1/search", none, string(noBody), 400, "no part called image"},
		"no form":                   {"/v1/search", "multipart/form-data; boundary=x", "nothing", 400, "no part called image"},
		"a form cut off":            {"/v1/search", two, string(body[:len(body)/2]), 400, "reading the form"},
		"a form without a boundary": {"/v1/search", "multipart/form-data", "nothing", 400, "boundary"},
		"an unknown field":          {"/v1/search", "application/json", `{"vector": [1], "klass": "b"}`, 400, "unknown field"},
		"more behind":               {"/v1/search", "application/json", `{"vector": [1]}{}`, 400, "behind"},
		"nothing asked":             {"/v1/search", "application/json", `{}`, 400, "0 of vector"},
		"two things asked":          {"/v1/search", "application/json", `{"vector": [1], "path": "a1"}`, 400, "2 of vector"},
		"no vectors":                {"/v1/search", "application/json", `{"vectors": []}`, 400, "list is empty"},
		"a vector too long":         {"/v1/search", "application/json", `{"vector": [1, 2]}`, 400, "vector 0 has 2 numbers, want 1"},
		"numbers beyond float32":    {"/v1/search", "application/json", `{"vector": [1e300]}`, 400, "float32"},
		"features":                  {"/v1/search", "application/json", `{"features": [[1]]}`, 400, "takes images"},
		"a row that is not there":   {"/v1/search", "application/json", `{"path": "c"}`, 404, `"c"`},
		"a key that is not there":   {"/v1/search", "application/json", `{"key": "a1"}`, 404, `"a1"`},
		"k of 0":                    {"/v1/search?k=0", "image/png", string(png), 400, "k is 0, want 1 to 1000"},
		"k of text":                 {"/v1/search?k=ten", "image/png", string(png), 400, `k is "ten"`},
		"k too large":               {"/v1/search", "application/json", `{"vector": [1], "k": 1001}`, 400, "want 1 to 1000"},
		"an offset below 0":         {"/v1/search", "application/json", `{"vector": [1], "offset": -1}`, 400, "offset -1"},
		"an offset too large":       {"/v1/search", "application/json", `{"vector": [1], "offset": 9991}`, 400, "at most 10000"},
		"too many vectors":          {"/v1/search", "application/json", `{"vectors": [` + list(65) + `]}`, 400, "65 queries"},
		"too many rows":             {"/v1/search", "application/json", `{"vectors": [` + list(11) + `], "k": 1000}`, 400, "at most 10000 rows together"},
	} {
		w := ask(s, "POST", c.path, c.kind, []byte(c.body), nil)
		if text := strings.ReplaceAll(w.Body.String(), `\"`, `"`); w.Code != c.code || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s, want %d with %q", name, w.Code, text, c.code, c.says)
		}
	}
	for _, path := range []string{"/?x=1", "/app.js?v=2", "/v1/info?x", "/metrics?name=a", "/healthz?x=1", "/v1/picture?row=1"} {
		if w := ask(s, "GET", path, "", nil, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
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

// A model that adds up two numbers.
func rowServer(t *testing.T) *Server {
	t.Helper()
	s, _ := newServer(t, func(c *Config) {
		c.Gallery = storeOf(t, []string{"none", "ten", "2", "most"}, []string{"a", "b", "c", "d"}, 0, 10, 20, 25)
		c.Features, c.Picture = 2, nil
		c.Embed = func(_ context.Context, q []Query) ([][]float32, []error) {
			rows := make([][]float32, len(q))
			for i := range q {
				rows[i] = []float32{q[i].Row[0] + q[i].Row[1]}
			}
			return rows, make([]error, len(q))
		}
	})
	return s
}

func TestASearchByFeatures(t *testing.T) {
	s := rowServer(t)
	one := npy(t, []float32{4, 17}, 1, 2)
	for name, c := range map[string]struct {
		path, kind string
		body       []byte
		want       []string
	}{
		"a file of a row":      {"/v1/search?k=2", bytesType, one, []string{"2 most"}},
		"a file of a vector":   {"/v1/search?k=2", bytesType, npy(t, []float32{4, 5}, 2), []string{"ten none"}},
		"a file of two rows":   {"/v1/search?k=1", bytesType, npy(t, []float32{1, 2, 12, 12}, 2, 2), []string{"none", "most"}},
		"numbers":              {"/v1/search", jsonType, []byte(`{"features": [[4, 5]], "k": 2}`), []string{"ten none"}},
		"an embedding":         {"/v1/search", jsonType, []byte(`{"vector": [9], "k": 2}`), []string{"ten none"}},
		"a row of the gallery": {"/v1/search", jsonType, []byte(`{"path": "2", "k": 2}`), []string{"most ten"}},
	} {
		found := answered[api.Found](t, ask(s, "POST", c.path, c.kind, c.body, nil))
		var got []string
		for _, r := range found.Results {
			got = append(got, paths(r))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		kind string
		body []byte
		code int
		says string
	}{
		"an image":               {"image/png", one, 415, "want a .npy file of rows"},
		"no array":               {bytesType, []byte("P5"), 422, ""},
		"too many numbers":       {bytesType, npy(t, []float32{1, 2, 3}, 1, 3), 422, "rows of 2 numbers"},
		"a cube":                 {bytesType, npy(t, make([]float32, 8), 2, 2, 2), 422, "rows of 2 numbers"},
		"a file cut off":         {bytesType, one[:len(one)-3], 422, ""},
		"not a number":           {bytesType, npy(t, []float32{1, float32(math.NaN())}, 2), 400, "number 1 of row 0 of the features is NaN"},
		"too few numbers":        {jsonType, []byte(`{"features": [[1]]}`), 400, "has 1 numbers, want 2"},
		"a form from another":    {"text/plain", []byte(`{"path": "2"}`), 415, "Content-Type"},
		"more rows than allowed": {bytesType, npy(t, make([]float32, 130), 65, 2), 400, "65 queries"},
	} {
		if w := ask(s, "POST", "/v1/search", c.kind, c.body, nil); w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s, want %d with %q", name, w.Code, w.Body, c.code, c.says)
		}
	}
	if w := ask(s, "GET", "/v1/picture?key=path:2", "", nil, nil); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "no picture") {
		t.Errorf("a picture of a row: %d %s", w.Code, w.Body)
	}
	info := answered[api.Info](t, ask(s, "GET", "/v1/info", "", nil, nil))
	if info.Features != 2 || info.Dim != 1 || info.Rows != 4 || info.Metric != "euclidean" || *info.Threshold != 15 || !info.Changes {
		t.Errorf("%+v", info)
	}
}

// The figures of /metrics follow what was asked.
func TestFigures(t *testing.T) {
	s := twenty(t)
	ask(s, "POST", "/v1/search", "application/json", []byte(`{"vectors": [[1], [2], [3]]}`), nil)
	ask(s, "POST", "/v1/search", "application/json", []byte(`{}`), nil)
	ask(s, "DELETE", "/v1/images?path=a1", "", nil, withToken)
	text, err := io.ReadAll(ask(s, "GET", "/metrics", "", nil, nil).Body)
	fatal(t, err)
	for _, line := range []string{
		`vernier_requests_total{code="200",route="/v1/search"} 1`, `vernier_requests_total{code="400",route="/v1/search"} 1`,
		`vernier_request_seconds_count{route="/v1/search"} 2`, `vernier_batch_queries_sum{work="search"} 3`, `vernier_batch_queries_count{work="search"} 1`,
		`vernier_gallery_rows 19`, `vernier_gallery_changes_total{change="deleted"} 1`, `vernier_queries_waiting 0`, `vernier_queries_waiting_limit 256`, `go_goroutines `,
	} {
		if !strings.Contains(string(text), line) {
			t.Errorf("there is no %s in\n%s", line, text)
		}
	}
}

// What the document says of bodies and answers is what the Go types say, and its limits
// are theirs.
func TestTheDocumentDescribesTheService(t *testing.T) {
	var doc struct {
		Paths      map[string]map[string]struct{ Parameters []struct{ Name string } }
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage
				Required   []string
			}
		}
	}
	fatal(t, json.Unmarshal(api.Document, &doc))
	for name, v := range map[string]any{
		"Search": api.Search{}, "Found": api.Found{}, "Result": api.Result{}, "Neighbor": api.Neighbor{}, "Put": api.Put{}, "Row": api.Row{},
		"Delete": api.Delete{}, "Changed": api.Changed{}, "Info": api.Info{}, "Error": api.Error{},
	} {
		always, all := fieldsOf(v)
		schema := doc.Components.Schemas[name]
		if got := len(schema.Properties); got != len(all) {
			t.Errorf("%s: the document has %d fields, the type has %q", name, got, all)
		}
		for _, field := range all {
			if schema.Properties[field] == nil {
				t.Errorf("%s: the document has no field %s", name, field)
			}
		}
		if strings.Join(schema.Required, " ") != strings.Join(always, " ") {
			t.Errorf("%s: the document requires %q, the type always has %q", name, schema.Required, always)
		}
	}
	if len(doc.Components.Schemas) != 10 {
		t.Errorf("%d schemas", len(doc.Components.Schemas))
	}
	s := twenty(t)
	for path, methods := range doc.Paths {
		for method, op := range methods {
			url := path + "?"
			for _, p := range op.Parameters {
				url += p.Name + "=x&"
			}
			if w := ask(s, strings.ToUpper(method), url, "", nil, withToken); w.Code == http.StatusMethodNotAllowed || strings.Contains(w.Body.String(), "no parameter") || w.Code == http.StatusNotFound && path != api.PicturePath {
				t.Errorf("%s %s: %d %s", method, url, w.Code, w.Body)
			}
		}
	}
	text := ask(s, "GET", "/docs", "", nil, nil).Body.String()
	for _, says := range []string{"PUT /v1/images", "Authorization: Bearer", "http://localhost:8321/v1/search?k=5", "an embedding by the model"} {
		if !strings.Contains(text, says) {
			t.Errorf("the page of the document does not say %q", says)
		}
	}
}
