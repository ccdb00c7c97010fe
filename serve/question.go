package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/serve/api"
	"github.com/vernier-ml/vernier/weights"
)

const (
	jsonType  = "application/json"
	bytesType = "application/octet-stream"
	formType  = "multipart/form-data"
)

// wantedTypes says what a request may have as its body.
func (s *Server) wantedTypes() error {
	body := "an image (image/... or " + bytesType + ")"
	if s.cfg.Features > 0 {
		body = "a .npy file of rows (" + bytesType + ")"
	}
	return failure{http.StatusUnsupportedMediaType, fmt.Errorf("want %s, %s or %s as the body, and its Content-Type", body, formType, jsonType)}
}

// question reads what a request asks.
func (s *Server) question(r *http.Request, body []byte) (q question, err error) {
	kind, options, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return q, s.wantedTypes()
	}
	switch {
	case kind == jsonType:
		if len(r.URL.Query()) > 0 {
			return q, bad(errors.New("with JSON as the body, k, offset and class stand in it, not in the URL"))
		}
		return s.questionOfJSON(body)
	case kind == formType:
		if len(r.URL.Query()) > 0 {
			return q, bad(errors.New("with a form as the body, k, offset and class are fields of it, not of the URL"))
		}
		files, fields, err := readForm(body, options["boundary"], "k", "offset", "class")
		if err != nil {
			return q, err
		}
		if err := q.parse(fields); err != nil {
			return q, err
		}
		for _, f := range files {
			more, err := s.queriesOf(f.content)
			if err != nil {
				return q, err
			}
			q.queries = append(q.queries, more...)
		}
		return q, q.check()
	case kind == bytesType || s.cfg.Features == 0 && strings.HasPrefix(kind, "image/"):
		if err := q.parse(r.URL.Query()); err != nil {
			return q, err
		}
		if q.queries, err = s.queriesOf(body); err != nil {
			return q, err
		}
		return q, q.check()
	}
	return q, s.wantedTypes()
}

// parse reads parameters that are text.
func (q *question) parse(v url.Values) error {
	q.k, q.class = api.DefaultK, v.Get("class")
	for name, to := range map[string]*int{"k": &q.k, "offset": &q.offset} {
		if !v.Has(name) {
			continue
		}
		n, err := strconv.Atoi(v.Get(name))
		if err != nil {
			return bad(fmt.Errorf("%s is %q, want a whole number", name, v.Get(name)))
		}
		*to = n
	}
	return nil
}

// queriesOf are the queries of a file: one image, or rows of features.
func (s *Server) queriesOf(file []byte) ([]Query, error) {
	if s.cfg.Features == 0 {
		return []Query{{File: file}}, nil
	}
	rows, err := rowsOfNPY(file, s.cfg.Features)
	if err != nil {
		return nil, failure{http.StatusUnprocessableEntity, err}
	}
	return s.featureQueries(rows)
}

func (s *Server) featureQueries(rows [][]float32) ([]Query, error) {
	if s.cfg.Features == 0 {
		return nil, bad(errors.New("features are for models that take rows of features: this one takes images"))
	}
	var queries []Query
	for i, row := range rows {
		if err := checkRow(fmt.Sprintf("row %d of the features", i), row, s.cfg.Features); err != nil {
			return nil, err
		}
		queries = append(queries, Query{Row: row})
	}
	return queries, nil
}

func (s *Server) questionOfJSON(body []byte) (q question, err error) {
	var in api.Search
	if err := readJSON(body, &in); err != nil {
		return q, err
	}
	q = question{k: in.K, offset: in.Offset, class: in.Class}
	if q.k == 0 {
		q.k = api.DefaultK
	}
	given := 0
	for _, is := range []bool{in.Vector != nil, in.Vectors != nil, in.Features != nil, in.Key != "", in.Path != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return q, bad(fmt.Errorf("%d of vector, vectors, features, key and path are there, want one of them", given))
	}
	switch {
	case in.Vector != nil:
		q.rows = [][]float32{in.Vector}
	case in.Vectors != nil:
		q.rows = in.Vectors
	case in.Features != nil:
		if q.queries, err = s.featureQueries(in.Features); err != nil {
			return q, err
		}
	case in.Key != "":
		q.own = gallery.Filter{Keys: []string{in.Key}}
	default:
		q.own = gallery.Filter{Paths: []string{in.Path}}
	}
	for i, row := range q.rows {
		if err := checkRow(fmt.Sprintf("vector %d", i), row, s.info.Dim); err != nil {
			return q, err
		}
	}
	if q.own.Empty() && len(q.rows)+len(q.queries) == 0 {
		return q, bad(errors.New("there is no query: the list is empty"))
	}
	return q, q.check()
}

// readJSON reads one value, whose fields are all known.
func readJSON(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.More() {
		err = errors.New("there is more behind the object")
	}
	if err != nil {
		return bad(fmt.Errorf("the body is not the JSON that is wanted here: %w", err))
	}
	return nil
}

// formFile is a file of a form.
type formFile struct {
	name    string
	content []byte
}

// readForm reads the files, called image, and the fields of a form.
func readForm(body []byte, boundary string, known ...string) (files []formFile, fields url.Values, err error) {
	fields = url.Values{}
	if boundary == "" {
		return nil, nil, bad(errors.New("the Content-Type of a form has a boundary"))
	}
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		var content []byte
		if err == nil {
			content, err = io.ReadAll(part)
		}
		if err != nil {
			return nil, nil, bad(fmt.Errorf("reading the form: %w", err))
		}
		switch name := part.FormName(); {
		case name == "image":
			if len(files) == api.MaxQueries {
				return nil, nil, bad(fmt.Errorf("the form has more than %d images", api.MaxQueries))
			}
			// Part.FileName is without folders.
			_, disposition, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
			files = append(files, formFile{disposition["filename"], content})
		case !slices.Contains(known, name):
			return nil, nil, bad(fmt.Errorf("the form: %w", unknown(name, append([]string{"image"}, known...))))
		case fields.Has(name):
			return nil, nil, bad(fmt.Errorf("the form has the field %s twice", name))
		case len(content) > api.MaxPath:
			return nil, nil, bad(fmt.Errorf("the field %s of the form has %d bytes, want at most %d", name, len(content), api.MaxPath))
		default:
			fields.Set(name, string(content))
		}
	}
	if len(files) == 0 {
		return nil, nil, bad(errors.New("the form has no part called image"))
	}
	return files, fields, nil
}

// rowsOfNPY reads rows of numbers of a .npy file.
func rowsOfNPY(body []byte, width int) ([][]float32, error) {
	f, err := weights.NewFile(bytes.NewReader(body), int64(len(body)), "query.npy")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Format() != weights.FormatNPY {
		return nil, fmt.Errorf("the query is %v, want .npy", f.Format())
	}
	t := f.Tensors()[0]
	if n := len(t.Shape); n < 1 || n > 2 || t.Shape[n-1] != width {
		return nil, fmt.Errorf("the query has shape %v, want rows of %d numbers", t.Shape, width)
	}
	x, err := t.Float32()
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(x, width)), nil
}
