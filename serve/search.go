package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	"encoding/binary"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/finite"
	"github.com/vernier-ml/vernier/serve/api"
)

const (
	embedBatches = 2  // while one is decoded, another goes through the network
	maxEmbedded  = 16 // of a batch
	maxSearched  = 32 // of a batch: the most queries that rows are compared with as they lie
)

// search answers POST /v1/search.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	// A request has a seat when its query is there: one that does not come keeps
	// nobody waiting.
	body, release, err := s.uploads.receive(w, r)
	defer release()
	var asked question
	if err == nil {
		asked, err = s.question(r, body)
	}
	if err != nil {
		finish(r.Context(), w, nil, err)
		return
	}
	leave, err := s.seats.take(asked.count())
	if err != nil {
		finish(r.Context(), w, nil, err)
		return
	}
	defer leave()
	found, err := s.found(r.Context(), asked)
	if err == nil && s.cfg.Page != nil {
		for _, result := range found.Results {
			s.cfg.Page.Remember(result)
		}
	}
	finish(r.Context(), w, found, err)
}

// question is what a request asks: queries to embed or embeddings, or a row of the
// gallery.
type question struct {
	queries []Query
	rows    [][]float32
	own     gallery.Filter // of one row
	k       int
	offset  int
	class   string
}

func (q question) count() int { return max(1, len(q.queries)+len(q.rows)) }

func (q question) check() error {
	switch n := q.count(); {
	case q.k < 1 || q.k > api.MaxK:
		return bad(fmt.Errorf("k is %d, want 1 to %d; later pages begin at offset", q.k, api.MaxK))
	case q.offset < 0 || q.offset+q.k > api.MaxDepth:
		return bad(fmt.Errorf("offset %d and k %d: want an offset of at least 0 and a sum of at most %d", q.offset, q.k, api.MaxDepth))
	case n > api.MaxQueries:
		return bad(fmt.Errorf("%d queries, want at most %d in a request", n, api.MaxQueries))
	case n*(q.offset+q.k) > api.MaxDepth:
		return bad(fmt.Errorf("%d queries of %d rows each: want at most %d rows together, offset included", n, q.offset+q.k, api.MaxDepth))
	}
	return nil
}

// found answers a question.
func (s *Server) found(ctx context.Context, q question) (*api.Found, error) {
	rows, hashes := q.rows, make([]string, 0, q.count())
	self := ""
	switch {
	case len(q.queries) > 0:
		for _, query := range q.queries {
			hashes = append(hashes, query.hash())
		}
		var err error
		if rows, err = s.embed(ctx, q.queries); err != nil {
			return nil, err
		}
	case !q.own.Empty():
		t, err := s.rowOf(ctx, q.own)
		if err != nil {
			return nil, err
		}
		rows, self = [][]float32{t.Row(0)}, t.Keys[0]
		hashes = append(hashes, self) // as if its file had been sent
	default:
		for _, row := range rows {
			hashes = append(hashes, Query{Row: row}.hash())
		}
	}
	depth := q.offset + q.k + 1 // one more tells whether there is another page
	if self != "" {
		depth++
	}
	asked := make([]wanted, len(rows))
	for i, row := range rows {
		asked[i] = wanted{row, depth, q.class}
	}
	lists, err := s.searcher.do(ctx, asked...)
	if err != nil {
		return nil, err
	}
	count, err := s.rows.get(ctx)
	if err != nil {
		return nil, err
	}
	answer := &api.Found{Results: make([]api.Result, len(lists)), Rows: count}
	for i, list := range lists {
		list = slices.DeleteFunc(list, func(m gallery.Match) bool { return self != "" && m.Key == self })
		if len(list) > q.offset+q.k && q.offset+2*q.k <= api.MaxDepth {
			answer.Next = q.offset + q.k
		}
		answer.Results[i] = api.Result{Query: hashes[i], Neighbors: s.neighbors(list[min(q.offset, len(list)):min(q.offset+q.k, len(list))])}
	}
	return answer, nil
}

func (s *Server) neighbors(list []gallery.Match) []api.Neighbor {
	near := make([]api.Neighbor, len(list))
	for i, m := range list {
		near[i] = api.Neighbor{Key: m.Key, Path: m.Path, Class: m.Class, Distance: m.Distance}
		if s.cfg.Threshold != nil {
			same := m.Distance <= *s.cfg.Threshold
			near[i].Same = &same
		}
	}
	return near
}

// hash identifies a query.
func (q Query) hash() string {
	content := q.File
	if q.Row != nil {
		content = make([]byte, 0, 4*len(q.Row))
		for _, v := range q.Row {
			content = binary.LittleEndian.AppendUint32(content, math.Float32bits(v))
		}
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// embed embeds queries with those of other requests.
func (s *Server) embed(ctx context.Context, queries []Query) ([][]float32, error) {
	rows, err := s.embedder.do(ctx, queries...)
	switch {
	case errors.Is(err, pixels.ErrNotImage) || errors.Is(err, pixels.ErrEmptyFile):
		return nil, failure{http.StatusUnsupportedMediaType, err}
	case errors.As(err, new(*QueryError)):
		return nil, failure{http.StatusUnprocessableEntity, err}
	}
	return rows, err
}

// QueryError says that a query cannot be embedded because of what it is.
type QueryError struct{ Err error }

func (e *QueryError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *QueryError) Unwrap() error { return e.Err }

// rowOf finds the one row that a filter names.
func (s *Server) rowOf(ctx context.Context, where gallery.Filter) (*gallery.Table, error) {
	var found *gallery.Table
	var err error
	if len(where.Keys) > 0 {
		found, err = s.cfg.Gallery.Get(ctx, where.Keys)
	} else {
		err = s.cfg.Gallery.Scan(ctx, where, func(t *gallery.Table) error { found = t; return nil })
	}
	if err == nil && (found == nil || found.N == 0) {
		err = failure{http.StatusNotFound, fmt.Errorf("no row of the gallery has the key or path %q", slices.Concat(where.Keys, where.Paths))}
	}
	return found, err
}

// wanted is a query of a search.
type wanted struct {
	row   []float32
	k     int
	class string
}

// find searches for several queries, those of a class at once.
func (s *Server) find(ctx context.Context, all []wanted) ([][]gallery.Match, []error) {
	found, errs := make([][]gallery.Match, len(all)), make([]error, len(all))
	classes := map[string][]int{}
	for i, w := range all {
		classes[w.class] = append(classes[w.class], i)
	}
	for class, members := range classes {
		queries, k := &eval.Embeddings{H: s.info.Dim}, 0
		for _, i := range members {
			queries.X, queries.N, k = append(queries.X, all[i].row...), queries.N+1, max(k, all[i].k)
		}
		opt := gallery.SearchOptions{Candidates: s.cfg.Candidates}
		if class != "" {
			opt.Where.Classes = []string{class}
		}
		lists, err := gallery.Search(ctx, s.cfg.Gallery, queries, s.info, k, opt)
		for place, i := range members {
			if errs[i] = err; err == nil {
				found[i] = lists[place][:min(all[i].k, len(lists[place]))]
			}
		}
	}
	return found, errs
}

// checkRow refuses a row that is too long, too short or not finite.
func checkRow(what string, row []float32, want int) error {
	if len(row) != want {
		return bad(fmt.Errorf("%s has %d numbers, want %d", what, len(row), want))
	}
	for i, v := range row {
		if !finite.Is(float64(v)) {
			return bad(fmt.Errorf("number %d of %s is %v", i, what, v))
		}
	}
	return nil
}
