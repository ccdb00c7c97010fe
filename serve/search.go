package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// about describes the gallery.
func (s *Server) about(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"title": s.cfg.Title, "rows": s.cfg.Gallery.N, "data": nametext.WithoutFolders(s.cfg.Gallery.Data), "metric": s.cfg.Info.Metric,
		"threshold": s.cfg.Threshold, "max_bytes": s.cfg.MaxBytes, "no_marks": s.noMarks,
	})
}

// result is what a search answers.
type result struct {
	Query     string     `json:"query"` // the image's SHA-256
	Width     int        `json:"width"`
	Height    int        `json:"height"`
	Neighbors []neighbor `json:"neighbors"`
}

type neighbor struct {
	Row      int     `json:"row"`
	Path     string  `json:"path"`
	Class    string  `json:"class"`
	Distance float64 `json:"distance"`
	Same     *bool   `json:"same,omitempty"`
}

// search embeds the image that is the body of the request, and finds the
// nearest.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	// Other pages cannot send these without asking first.
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "image/") && kind != "application/octet-stream" {
		fail(w, http.StatusUnsupportedMediaType, errors.New("want an image as the body, of Content-Type image/... or application/octet-stream"))
		return
	}
	// A request has a seat when its image is there: one that does not come keeps
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
	img, err := s.decoder.Decode(r.Context(), body)
	if r.Context().Err() != nil { // nobody waits any longer
		return
	}
	if err != nil {
		status := http.StatusUnprocessableEntity
		if errors.Is(err, pixels.ErrNotImage) || errors.Is(err, pixels.ErrEmptyFile) {
			status = http.StatusUnsupportedMediaType
		}
		fail(w, status, err)
		return
	}
	res, err := s.find(r, img)
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	sum := sha256.Sum256(body)
	res.Query = hex.EncodeToString(sum[:])
	s.asked.keep(res)
	answer(w, res)
}

func (s *Server) find(r *http.Request, img *pixels.RGB) (*result, error) {
	row, err := s.cfg.Embed(r.Context(), img)
	if err != nil {
		return nil, err
	}
	query := &eval.Embeddings{X: row, N: 1, H: len(row)}
	g := s.cfg.Gallery
	hits, err := s.rows.Search(r.Context(), query, s.cfg.Nearest, eval.SearchOptions{})
	if err != nil {
		return nil, err
	}
	res := &result{Width: img.W, Height: img.H, Neighbors: []neighbor{}}
	for _, h := range hits[0] {
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
