package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/serve/api"
)

// slowCount is a store that takes a while to count its rows, and may be away.
type slowCount struct {
	gallery.Store
	takes  time.Duration
	counts atomic.Int64
	away   atomic.Bool
}

func (s *slowCount) Stats(ctx context.Context) (gallery.Stats, error) {
	s.counts.Add(1)
	time.Sleep(s.takes)
	return s.Store.Stats(ctx)
}

func (s *slowCount) Known(ctx context.Context, keys []string) (map[string]gallery.Label, error) {
	if s.away.Load() {
		return nil, errors.Join(errors.New("secret.example: refused"), gallery.ErrUnavailable)
	}
	return s.Store.Known(ctx, keys)
}

func (s *slowCount) Candidates(ctx context.Context, queries *eval.Embeddings, n int, where gallery.Filter) ([]*gallery.Table, error) {
	if s.away.Load() {
		return nil, errors.Join(errors.New("secret.example: refused"), gallery.ErrUnavailable)
	}
	return s.Store.Candidates(ctx, queries, n, where)
}

func TestSearchesDoNotCountTheGallery(t *testing.T) {
	store := &slowCount{Store: storeOf(t, []string{"a", "b"}, []string{"x", "x"}, 1, 2), takes: 50 * time.Millisecond}
	s, _ := newServer(t, func(c *Config) { c.Gallery = store })
	for range 20 {
		found := answered[api.Found](t, ask(s, "POST", "/v1/search", "application/json", []byte(`{"vector": [1]}`), nil))
		if found.Rows != 2 {
			t.Fatalf("%d rows, want 2", found.Rows)
		}
	}
	// Nor do changes, where counting takes long.
	for i, c := range []struct {
		method, path, body string
		want               int
	}{
		{"PUT", "/v1/images", `{"rows": [{"path": "c", "vector": [3]}, {"path": "d", "vector": [4]}]}`, 4},
		{"DELETE", "/v1/images?path=a", "", 3},
	} {
		kind := ""
		if c.body != "" {
			kind = "application/json"
		}
		if done := answered[api.Changed](t, ask(s, c.method, c.path, kind, []byte(c.body), withToken)); done.Rows != c.want {
			t.Errorf("change %d: %d rows, want %d", i, done.Rows, c.want)
		}
	}
	if found := answered[api.Found](t, ask(s, "POST", "/v1/search", "application/json", []byte(`{"vector": [1]}`), nil)); found.Rows != 3 {
		t.Errorf("%d rows after the changes, want 3", found.Rows)
	}
	if n := store.counts.Load(); n != 1 {
		t.Errorf("the gallery was counted %d times, want once", n)
	}
}

// A gallery that does not answer is an answer of 503, which does not say where it is.
func TestAGalleryThatIsAway(t *testing.T) {
	store := &slowCount{Store: storeOf(t, []string{"a"}, []string{"x"}, 1)}
	s, _ := newServer(t, func(c *Config) { c.Gallery = store })
	for _, away := range []bool{true, false} {
		store.away.Store(away)
		found := ask(s, "POST", "/v1/search", "application/json", []byte(`{"vector": [1]}`), nil)
		ready := ask(s, "GET", "/readyz", "", nil, nil)
		want := http.StatusOK
		if away {
			want = http.StatusServiceUnavailable
			if found.Header().Get("Retry-After") == "" || strings.Contains(found.Body.String(), "secret") || !strings.Contains(found.Body.String(), "the gallery does not answer") {
				t.Errorf("%v %s", found.Header(), found.Body)
			}
		}
		if found.Code != want || ready.Code != want {
			t.Errorf("away %v: search %d, ready %d, want %d", away, found.Code, ready.Code, want)
		}
	}
}
