package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// about describes the gallery.
func (s *Server) about(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"title": s.cfg.Title, "rows": s.cfg.Gallery.N, "data": nametext.WithoutFolders(s.cfg.Gallery.Data), "metric": s.cfg.Info.Metric,
		"threshold": s.cfg.Threshold, "max_bytes": s.cfg.MaxBytes, "no_marks": s.noMarks, "width": s.cfg.Width,
	})
}

// result is what a search answers.
type result struct {
	Query     string     `json:"query"`           // SHA-256 of the body
	Width     int        `json:"width,omitempty"` // of an image
	Height    int        `json:"height,omitempty"`
	Neighbors []neighbor `json:"neighbors"`
}

type neighbor struct {
	Row      int     `json:"row"`
	Path     string  `json:"path"`
	Class    string  `json:"class"`
	Distance float64 `json:"distance"`
	Same     *bool   `json:"same,omitempty"`
}

// search finds the nearest rows of the query that is the body of the request: an image,
// a .npy file of one row, or JSON that says one, see asked.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	// Other pages cannot send these without asking first.
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !s.takes(kind) {
		fail(w, http.StatusUnsupportedMediaType, s.wanted())
		return
	}
	// A request has a seat when its query is there: one that does not come keeps
	// nobody waiting.
	body, release, err := s.uploads.receive(w, r)
	defer release()
	if f := (failure{}); errors.As(err, &f) {
		fail(w, f.status, f.error)
		return
	}
	select {
	case s.seats <- struct{}{}:
		defer func() { <-s.seats }()
	default:
		fail(w, http.StatusServiceUnavailable, errors.New("busy with other searches, try again"))
		return
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-r.Context().Done():
		return
	}
	res, err := s.answerTo(r.Context(), kind, body)
	if r.Context().Err() != nil { // nobody waits any longer
		return
	}
	if err != nil {
		f := failure{http.StatusInternalServerError, err}
		errors.As(err, &f)
		fail(w, f.status, f.error)
		return
	}
	sum := sha256.Sum256(body)
	res.Query = hex.EncodeToString(sum[:])
	s.asked.keep(res)
	answer(w, res)
}

// answerTo searches for what a body of a type holds.
func (s *Server) answerTo(ctx context.Context, kind string, body []byte) (*result, error) {
	switch {
	case kind == jsonType:
		return s.searchAsked(ctx, body)
	case s.cfg.EmbedRow != nil:
		row, err := rowOfNPY(body)
		if err != nil {
			return nil, failure{http.StatusUnprocessableEntity, err}
		}
		return s.searchRow(ctx, row)
	}
	return s.searchImage(ctx, body)
}

func (s *Server) searchImage(ctx context.Context, body []byte) (*result, error) {
	img, err := s.decoder.Decode(ctx, body)
	if err != nil {
		status := http.StatusUnprocessableEntity
		if errors.Is(err, pixels.ErrNotImage) || errors.Is(err, pixels.ErrEmptyFile) {
			status = http.StatusUnsupportedMediaType
		}
		return nil, failure{status, err}
	}
	row, err := s.cfg.Embed(ctx, img)
	if err != nil {
		return nil, err
	}
	res, err := s.find(ctx, row, -1)
	if err == nil {
		res.Width, res.Height = img.W, img.H
	}
	return res, err
}

// find returns the rows of the gallery that are nearest to an embedding, but for the row
// without, which is -1 for none.
func (s *Server) find(ctx context.Context, embedding []float32, without int) (*result, error) {
	query := &eval.Embeddings{X: embedding, N: 1, H: len(embedding)}
	g, count := s.cfg.Gallery, s.cfg.Nearest
	if without >= 0 {
		count++
	}
	hits, err := g.Search(ctx, s.cfg.Engine, query, s.cfg.Info, count, eval.SearchOptions{})
	if err != nil {
		return nil, err
	}
	res := &result{Neighbors: []neighbor{}}
	for _, h := range hits[0] {
		if h.Row == without || len(res.Neighbors) == s.cfg.Nearest {
			continue
		}
		n := neighbor{Row: h.Row, Path: g.Path(h.Row), Class: g.Class(h.Row), Distance: h.Distance}
		if s.cfg.Threshold != nil {
			same := h.Distance <= *s.cfg.Threshold
			n.Same = &same
		}
		res.Neighbors = append(res.Neighbors, n)
	}
	return res, nil
}

// image serves a picture of the gallery by its row, made anew: what is sent is
// an image whatever the file holds.
func (s *Server) image(w http.ResponseWriter, r *http.Request) {
	row, err := strconv.ParseUint(r.PathValue("row"), 10, 31)
	if err != nil || int(row) >= s.cfg.Gallery.N {
		fail(w, http.StatusNotFound, fmt.Errorf("the gallery has rows 0 to %d", s.cfg.Gallery.N-1))
		return
	}
	if s.cfg.Picture == nil {
		fail(w, http.StatusNotFound, errors.New("rows of numbers have no pictures"))
		return
	}
	picture, err := s.pictures.get(r.Context(), int(row))
	if r.Context().Err() != nil { // nobody waits any longer
		return
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, fmt.Errorf("row %d of the gallery cannot be read", row)) // the log has no use for it, the page none for its place
		return
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Cache-Control", "private, max-age=600")
	_, _ = w.Write(picture) // the client has gone
}

// answer writes JSON.
func answer(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client has gone
}

// fail answers an error as JSON.
func fail(w http.ResponseWriter, status int, err error) {
	text, encoding := json.Marshal(map[string]string{"error": err.Error()})
	if encoding != nil {
		text = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Cache-Control")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client has gone
}
