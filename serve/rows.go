package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/internal/finite"
	"github.com/vernier-ml/vernier/weights"
)

const (
	jsonType  = "application/json"
	bytesType = "application/octet-stream"
)

// takes reports whether a search may have a body of a type.
func (s *Server) takes(kind string) bool {
	return kind == jsonType || kind == bytesType || s.cfg.EmbedRow == nil && strings.HasPrefix(kind, "image/")
}

func (s *Server) wanted() error {
	const json = `application/json with {"row": NUMBER} or {"key": "PATH"}`
	if s.cfg.EmbedRow != nil {
		return fmt.Errorf(`want a .npy file of one row as the body, of Content-Type %s, or %s or {"vector": [NUMBER, ...]}`, bytesType, json)
	}
	return fmt.Errorf("want an image as the body, of Content-Type image/... or %s, or %s", bytesType, json)
}

// asked is a query as JSON; one of its fields is set.
type asked struct {
	Row    *int      `json:"row"`    // of the gallery
	Key    *string   `json:"key"`    // the path of a row, or else its number
	Vector []float64 `json:"vector"` // what EmbedRow takes
}

// searchAsked searches for a row of the gallery, without finding that itself, or for a
// vector.
func (s *Server) searchAsked(ctx context.Context, body []byte) (*result, error) {
	var q asked
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(&q)
	if err == nil && d.More() {
		err = errors.New("there is more behind the object")
	}
	given := 0
	for _, is := range []bool{q.Row != nil, q.Key != nil, q.Vector != nil} {
		if is {
			given++
		}
	}
	if err == nil && given != 1 {
		err = fmt.Errorf("it has %d of row, key and vector", given)
	}
	if err != nil {
		return nil, failure{http.StatusBadRequest, fmt.Errorf("%w: %w", s.wanted(), err)}
	}
	if q.Vector != nil {
		if s.cfg.EmbedRow == nil {
			return nil, failure{http.StatusUnprocessableEntity, errors.New("the model takes images, not vectors")}
		}
		row := make([]float32, len(q.Vector))
		for i, v := range q.Vector {
			row[i] = float32(v)
		}
		return s.searchRow(ctx, row)
	}
	row, err := s.rowOf(q)
	if err != nil {
		return nil, err
	}
	return s.find(ctx, slices.Clone(s.cfg.Gallery.Row(row)), row)
}

// rowOf returns the row of the gallery that a query names.
func (s *Server) rowOf(q asked) (int, error) {
	g := s.cfg.Gallery
	if q.Key != nil {
		if row := slices.Index(g.Paths, *q.Key); row >= 0 {
			return row, nil
		}
		n, err := strconv.Atoi(*q.Key)
		if err != nil {
			return 0, failure{http.StatusNotFound, fmt.Errorf("no row of the gallery has the key %q", *q.Key)}
		}
		q.Row = &n
	}
	if *q.Row < 0 || *q.Row >= g.N {
		return 0, failure{http.StatusNotFound, fmt.Errorf("the gallery has rows 0 to %d, not %d", g.N-1, *q.Row)}
	}
	return *q.Row, nil
}

// searchRow embeds a row of numbers and finds the nearest.
func (s *Server) searchRow(ctx context.Context, row []float32) (*result, error) {
	if len(row) != s.cfg.Width {
		return nil, failure{http.StatusUnprocessableEntity, fmt.Errorf("the query has %d numbers, the model takes rows of %d", len(row), s.cfg.Width)}
	}
	for i, v := range row {
		if !finite.Is(float64(v)) {
			return nil, failure{http.StatusUnprocessableEntity, fmt.Errorf("number %d of the query is %v", i, v)}
		}
	}
	embedding, err := s.cfg.EmbedRow(ctx, row)
	if err != nil {
		return nil, err
	}
	return s.find(ctx, embedding, -1)
}

// rowOfNPY reads the numbers of a .npy file.
func rowOfNPY(body []byte) ([]float32, error) {
	f, err := weights.NewFile(bytes.NewReader(body), int64(len(body)), "query.npy")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Format() != weights.FormatNPY {
		return nil, fmt.Errorf("the query is %v, want .npy", f.Format())
	}
	t := f.Tensors()[0]
	if rows := len(t.Shape) - 1; rows > 0 && slices.ContainsFunc(t.Shape[:rows], func(n int) bool { return n != 1 }) {
		return nil, fmt.Errorf("the query has shape %v, want one row", t.Shape)
	}
	return t.Float32()
}
