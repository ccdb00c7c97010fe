package weaviate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/metric"
)

// Options are for Open.
type Options struct {
	// Lease is how long a process that writes may be silent before another one takes it for
	// dead and writes itself. 0 means DefaultLease.
	Lease time.Duration
}

// DefaultLease is long enough for a process that is swapped out or waits for its network.
const DefaultLease = 20 * time.Second

// Store is a gallery.Store in a collection.
type Store struct {
	at       address
	lease    time.Duration
	client   *http.Client
	info     gallery.Info
	distance string        // of Weaviate
	writing  chan struct{} // holds a token while a goroutine writes
}

// maxDim is the largest number of numbers that Weaviate takes of a row.
const maxDim = 65535

// Open opens a gallery for rows of a metric and model. With a zero Info it may be of any
// and must be there, else the error is gallery.ErrNoGallery; otherwise it need not be there:
// the first Upsert makes it. A server that does not answer, a wrong key, and rows of another
// model are errors here.
func Open(ctx context.Context, text string, info gallery.Info, opt Options) (*Store, error) {
	at, err := parseAddress(text)
	if err != nil {
		return nil, err
	}
	s := &Store{at: at, lease: opt.Lease, client: newClient(), info: info, writing: make(chan struct{}, 1)}
	if s.lease == 0 {
		s.lease = DefaultLease
	}
	if info != (gallery.Info{}) {
		if s.distance, err = distanceOf(info); err != nil {
			return nil, err
		}
	}
	st, err := s.state(ctx)
	switch {
	case errors.Is(err, gallery.ErrNoGallery) && info != (gallery.Info{}):
		return s, nil
	case err != nil:
		s.Close()
		return nil, err
	case info == (gallery.Info{}):
		s.info = st.Info
		if s.distance, err = distanceOf(st.Info); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Info implements gallery.Store.
func (s *Store) Info() gallery.Info { return s.info }

// Exact implements gallery.Store.
func (s *Store) Exact() bool { return false }

// Close implements gallery.Store.
func (s *Store) Close() error { s.client.CloseIdleConnections(); return nil }

// none is a table without rows.
func (s *Store) none() *gallery.Table {
	return &gallery.Table{Embeddings: &eval.Embeddings{H: s.info.Dim}, Keys: []string{}, Paths: []string{}, Classes: []string{}, Metric: s.info.Metric, Model: s.info.Model}
}

// distanceOf is how Weaviate compares rows, so that what is near by a metric is near.
func distanceOf(info gallery.Info) (string, error) {
	m, err := metric.Parse(info.Metric)
	if err != nil {
		return "", err
	}
	if info.Dim > maxDim {
		return "", fmt.Errorf("rows of %d numbers: Weaviate has at most %d; keep them in an index file", info.Dim, maxDim)
	}
	switch m.Kind {
	case metric.BRM, metric.Euclidean, metric.SquaredEuclidean:
		return "l2-squared", nil
	case metric.Cosine:
		return "cosine", nil
	case metric.Dot:
		return "dot", nil
	}
	return "", fmt.Errorf("a database compares rows by Euclidean distance, which says nothing of the nearest by %s: keep these rows in an index file", info.Metric)
}
