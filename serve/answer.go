package serve

import (
	"context"
	"errors"
	"net/http"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/serve/api"
)

// failure is an answer that is not 200.
type failure struct {
	status int
	error
}

func (f failure) Unwrap() error { return f.error }

func bad(err error) error { return failure{http.StatusBadRequest, err} }

// finish answers a request with what was found, or with why not.
func finish(ctx context.Context, w http.ResponseWriter, v any, err error) {
	switch f := (failure{}); {
	case errors.As(err, &f): // also to a body that came too slowly, which ends the context
		api.Fail(w, f.status, f.error)
	case ctx.Err() != nil: // nobody waits any longer
	case err == nil:
		api.Reply(w, v)
	case errors.Is(err, gallery.ErrOtherModel):
		api.Fail(w, http.StatusConflict, err)
	case errors.Is(err, gallery.ErrUnavailable):
		api.Fail(w, http.StatusServiceUnavailable, gallery.ErrUnavailable)
	default:
		api.Fail(w, http.StatusInternalServerError, err)
	}
}
