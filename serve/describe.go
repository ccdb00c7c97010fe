package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/serve/api"
)

// describe answers GET /v1/info.
func (s *Server) describe(w http.ResponseWriter, r *http.Request) {
	count, err := s.rows.get(r.Context())
	finish(r.Context(), w, api.Info{
		Title: s.cfg.Title, Data: s.cfg.Data, Rows: count, Metric: s.info.Metric, Model: s.info.Model, Dim: s.info.Dim,
		Features: s.cfg.Features, Threshold: s.cfg.Threshold, MaxBytes: s.cfg.MaxBytes, Changes: len(s.tokens) > 0,
	}, err)
}

// healthy answers GET /healthz: the process answers.
func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") }

// readyTime is how long a gallery may take to say that it is there.
const readyTime = 5 * time.Second

// ready answers GET /readyz: the gallery answers, and there is room for another query.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	leave, err := s.seats.take(1)
	if err == nil {
		leave()
		_, err = s.cfg.Gallery.Known(ctx, []string{""}) // which counts nothing
	}
	if f := (failure{}); errors.As(err, &f) {
		plain(w, f.status, f.Error())
		return
	}
	if errors.Is(err, gallery.ErrUnavailable) {
		plain(w, http.StatusServiceUnavailable, gallery.ErrUnavailable.Error())
		return
	}
	if err != nil {
		plain(w, http.StatusServiceUnavailable, fmt.Sprintf("%v: %v", gallery.ErrUnavailable, err))
		return
	}
	plain(w, http.StatusOK, "ready")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}
