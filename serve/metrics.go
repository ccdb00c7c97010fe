package serve

import (
	"context"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/vernier-ml/vernier/serve/api"
)

// figures are what GET /metrics answers.
type figures struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	batches  *prometheus.HistogramVec
	changes  *prometheus.CounterVec
}

// newFigures makes the figures of a server. Those of its gallery are asked for when they are
// read.
func newFigures(s *Server) *figures {
	f := &figures{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vernier_requests_total", Help: "Requests that were answered, by route and status.",
		}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "vernier_request_seconds", Help: "Time from a request to the end of its answer, by route.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"route"}),
		batches: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "vernier_batch_queries", Help: "Queries that were embedded or searched for at a time.",
			Buckets: []float64{1, 2, 4, 8, 16, 32},
		}, []string{"work"}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vernier_gallery_changes_total", Help: "Rows that requests have added, replaced and deleted.",
		}, []string{"change"}),
	}
	f.registry.MustRegister(f.requests, f.seconds, f.batches, f.changes,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "vernier_queries_waiting", Help: "Queries that wait or are worked on.",
		}, func() float64 { return float64(s.seats.taken.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "vernier_queries_waiting_limit", Help: "How many may: more are refused with 503.",
		}, func() float64 { return float64(s.seats.total) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "vernier_gallery_rows", Help: "Rows of the gallery; -1 if it does not answer.",
		}, func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), readyTime)
			defer cancel()
			rows, err := s.rows.get(ctx)
			if err != nil {
				return -1
			}
			return float64(rows)
		}))
	return f
}

// observe counts the requests of a route and measures them.
func (f *figures) observe(pattern string, next http.Handler) http.Handler {
	_, route, _ := strings.Cut(pattern, " ")
	labels := prometheus.Labels{"route": strings.TrimSuffix(route, "{$}")}
	return promhttp.InstrumentHandlerDuration(f.seconds.MustCurryWith(labels),
		promhttp.InstrumentHandlerCounter(f.requests.MustCurryWith(labels), next))
}

// batch returns a function that records the size of a batch.
func (f *figures) batch(work string) func(int) {
	of := f.batches.WithLabelValues(work)
	return func(n int) { of.Observe(float64(n)) }
}

func (f *figures) changed(c api.Changed) {
	for change, n := range map[string]int{"added": c.Added, "replaced": c.Replaced, "deleted": c.Deleted} {
		f.changes.WithLabelValues(change).Add(float64(n))
	}
}

// answer is the handler of GET /metrics.
func (f *figures) answer() http.Handler {
	return promhttp.HandlerFor(f.registry, promhttp.HandlerOpts{})
}
