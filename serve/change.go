package serve

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/serve/api"
)

// newRow is a row that is to be put: a query that is still to be embedded, or an embedding.
type newRow struct {
	path, class string
	query       *Query
	embedding   []float32
}

// put answers PUT /v1/images.
func (s *Server) put(w http.ResponseWriter, r *http.Request) {
	body, release, err := s.uploads.receive(w, r)
	defer release()
	var rows []newRow
	if err == nil {
		rows, err = s.newRows(r, body)
	}
	if err == nil {
		err = checkNew(rows)
	}
	if err != nil {
		finish(r.Context(), w, nil, err)
		return
	}
	leave, err := s.seats.take(len(rows))
	if err != nil {
		finish(r.Context(), w, nil, err)
		return
	}
	defer leave()
	done, err := s.add(r.Context(), rows)
	finish(r.Context(), w, done, err)
}

// newRows reads what a request puts.
func (s *Server) newRows(r *http.Request, body []byte) (rows []newRow, err error) {
	kind, options, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, s.wantedTypes()
	}
	url := r.URL.Query()
	switch {
	case kind == jsonType || kind == formType:
		if len(url) > 0 {
			return nil, bad(fmt.Errorf("with %s as the body, paths and classes stand in it, not in the URL", kind))
		}
		if kind == jsonType {
			return s.newRowsOfJSON(body)
		}
		files, fields, err := readForm(body, options["boundary"], "class")
		if err != nil {
			return nil, err
		}
		if s.cfg.Features > 0 {
			return nil, failure{http.StatusUnsupportedMediaType, errors.New("rows of features are put as JSON")}
		}
		for _, f := range files {
			rows = append(rows, newRow{path: f.name, class: fields.Get("class"), query: &Query{File: f.content}})
		}
		return rows, nil
	case s.cfg.Features == 0 && (kind == bytesType || strings.HasPrefix(kind, "image/")):
		return []newRow{{path: url.Get("path"), class: url.Get("class"), query: &Query{File: body}}}, nil
	}
	return nil, s.wantedTypes()
}

func (s *Server) newRowsOfJSON(body []byte) (rows []newRow, err error) {
	var in api.Put
	if err := readJSON(body, &in); err != nil {
		return nil, err
	}
	for i, row := range in.Rows {
		n := newRow{path: row.Path, class: row.Class, embedding: row.Vector}
		switch {
		case (row.Vector == nil) == (row.Features == nil):
			return nil, bad(fmt.Errorf("row %d: want one of vector and features", i))
		case row.Path == "":
			return nil, bad(fmt.Errorf("row %d has no path: numbers are known by theirs", i))
		case row.Features != nil:
			queries, err := s.featureQueries([][]float32{row.Features})
			if err != nil {
				return nil, fmt.Errorf("row %d: %w", i, err)
			}
			n.query = &queries[0]
		default:
			if err := checkRow(fmt.Sprintf("vector %d", i), row.Vector, s.info.Dim); err != nil {
				return nil, err
			}
		}
		rows = append(rows, n)
	}
	return rows, nil
}

// checkNew refuses rows that a gallery cannot have beside each other, and names that
// would not be the same when they are read again.
func checkNew(rows []newRow) error {
	if len(rows) == 0 || len(rows) > api.MaxImages {
		return bad(fmt.Errorf("%d rows, want 1 to %d in a request", len(rows), api.MaxImages))
	}
	seen := map[string]bool{}
	for i, row := range rows {
		for what, name := range map[string]string{"path": row.path, "class": row.class} {
			if len(name) > api.MaxPath || nametext.Valid(name) != name || strings.ContainsRune(name, 0) {
				return bad(fmt.Errorf("the %s of row %d: want valid UTF-8 of at most %d bytes", what, i, api.MaxPath))
			}
		}
		// Paths that lead to places on this machine are for those who work on it: pictures
		// are read from there.
		if strings.HasPrefix(row.path, "/") || slices.Contains(strings.Split(row.path, "/"), "..") {
			return bad(fmt.Errorf("the path of row %d is %s: want one that does not begin with / and has no .. in it", i, nametext.Show(row.path)))
		}
		if row.path != "" && seen[row.path] {
			return bad(fmt.Errorf("the path %s is given twice", nametext.Show(row.path)))
		}
		seen[row.path] = true
	}
	return nil
}

// add embeds rows and puts them into the gallery.
func (s *Server) add(ctx context.Context, rows []newRow) (*api.Changed, error) {
	var queries []Query
	for _, row := range rows {
		if row.query != nil {
			queries = append(queries, *row.query)
		}
	}
	embedded, err := s.embed(ctx, queries)
	if err != nil {
		return nil, err
	}
	t := &gallery.Table{Embeddings: &eval.Embeddings{N: len(rows), H: s.info.Dim}, Metric: s.info.Metric, Model: s.info.Model}
	for _, row := range rows {
		key := ""
		if row.query != nil {
			row.embedding, embedded = embedded[0], embedded[1:]
			if row.query.File != nil {
				key = row.query.hash()
			}
		}
		t.X = append(t.X, row.embedding...)
		t.Paths, t.Classes, t.Keys = append(t.Paths, row.path), append(t.Classes, row.class), append(t.Keys, key)
	}
	t.Keys = t.RowKeys()
	// What has begun to be kept is kept to its end, whether somebody waits for it or not.
	ctx = context.WithoutCancel(ctx)
	done, err := s.keep(ctx, t, rows)
	if err != nil {
		return nil, fmt.Errorf("the rows were not kept: %w", err)
	}
	return s.changed(ctx, api.Changed{Added: done.Added, Replaced: done.Replaced, Unchanged: done.Unchanged + done.Repeated})
}

// keep puts rows into the gallery, and their images into the folder of those.
func (s *Server) keep(ctx context.Context, t *gallery.Table, rows []newRow) (gallery.Changes, error) {
	if s.kept == nil {
		return s.cfg.Gallery.Upsert(ctx, t)
	}
	before, err := s.keysOf(ctx, gallery.Filter{Paths: slices.DeleteFunc(slices.Clone(t.Paths), func(p string) bool { return p == "" })})
	if err != nil {
		return gallery.Changes{}, err
	}
	for i, row := range rows {
		if row.query != nil && row.query.File != nil {
			if err := s.kept.add(t.Keys[i], row.query.File); err != nil {
				return gallery.Changes{}, err
			}
		}
	}
	done, err := s.cfg.Gallery.Upsert(ctx, t)
	if err == nil {
		err = s.forget(ctx, before)
	}
	return done, err
}

// keysOf lists the keys of the rows that a filter names.
func (s *Server) keysOf(ctx context.Context, where gallery.Filter) (keys []string, err error) {
	if where.Empty() {
		return nil, nil
	}
	err = s.cfg.Gallery.Scan(ctx, where, func(t *gallery.Table) error {
		keys = append(keys, t.Keys...)
		return nil
	})
	return keys, err
}

// forget removes the images of keys that the gallery has no longer.
func (s *Server) forget(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	known, err := s.cfg.Gallery.Known(ctx, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, there := known[key]; !there {
			s.pictures.forget(key)
			if s.kept != nil {
				err = errors.Join(err, s.kept.remove(key))
			}
		}
	}
	return err
}

func (s *Server) changed(ctx context.Context, c api.Changed) (*api.Changed, error) {
	s.figures.changed(c)
	var err error
	c.Rows, err = s.rows.changed(ctx, c.Added-c.Deleted)
	return &c, err
}

// delete answers DELETE /v1/images.
func (s *Server) delete(w http.ResponseWriter, r *http.Request) {
	body, release, err := s.uploads.receive(w, r)
	defer release()
	var done *api.Changed
	if err == nil {
		var where gallery.Filter
		if where, err = deleted(r, body); err == nil {
			done, err = s.remove(r.Context(), where)
		}
	}
	finish(r.Context(), w, done, err)
}

// deleted reads which rows a request deletes.
func deleted(r *http.Request, body []byte) (where gallery.Filter, err error) {
	url := r.URL.Query()
	in := api.Delete{Keys: url["key"], Paths: url["path"], Class: url.Get("class")}
	if len(body) > 0 {
		if len(url) > 0 {
			return where, bad(errors.New("which rows are deleted stands in the URL or in the body, not in both"))
		}
		if err := readJSON(body, &in); err != nil {
			return where, err
		}
	}
	kinds := 0
	for _, is := range []bool{len(in.Keys) > 0, len(in.Paths) > 0, in.Class != ""} {
		if is {
			kinds++
		}
	}
	switch n := len(in.Keys) + len(in.Paths); {
	case kinds != 1 || len(url["class"]) > 1:
		return where, bad(errors.New("which rows? Give keys, or paths, or one class"))
	case n > api.MaxNames:
		return where, bad(fmt.Errorf("%d keys and paths, want at most %d in a request", n, api.MaxNames))
	}
	where = gallery.Filter{Keys: in.Keys, Paths: in.Paths}
	if in.Class != "" {
		where.Classes = []string{in.Class}
	}
	return where, nil
}

// remove removes rows, and the images that are kept of them.
func (s *Server) remove(ctx context.Context, where gallery.Filter) (*api.Changed, error) {
	leave, err := s.seats.take(1)
	if err != nil {
		return nil, err
	}
	defer leave()
	keys, err := s.keysOf(ctx, where)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	n, err := s.cfg.Gallery.Remove(ctx, where)
	if err == nil {
		err = s.forget(ctx, keys)
	}
	if err != nil {
		return nil, err
	}
	return s.changed(ctx, api.Changed{Deleted: n})
}
