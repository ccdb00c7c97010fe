package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/engine"
)

// Benchmark is a named set of cases.
type Benchmark struct {
	Name, Text string
	Batch      int // default number of images; 0 where a batch means nothing
	Cases      []Case
	Traced     bool // whether the cases can be observed, see Runner.Trace
}

// Case is one thing that is timed.
type Case struct {
	Name  string // within its benchmark; empty if it is the only one
	start func(ctx context.Context, eng engine.Engine, batch int) (*work, error)
	// numbers that ranks sum, where a group of ranks is measured and start is nil.
	numbers int
}

// work is a case ready to run.
type work struct {
	run func() error // one iteration
	// What an iteration does: images, queries, and operations counted as the
	// package says. 0 where it does not apply.
	images, queries int
	flops           float64
	planned         int64 // bytes of activations, gradients and workspace that were planned
	close           func() error
	// observe makes later iterations notify an observer of what they do; nil if the
	// benchmark is not Traced.
	observe func(engine.Observer)
}

// All returns the benchmarks in the order of vernier bench list.
func All() []Benchmark {
	list := []Benchmark{gemm(), conv()}
	for _, n := range networks() {
		list = append(list, n.training(), n.inference())
	}
	list = append(list, networks()[0].withProxies())
	return append(list, pairwise(), search(), sop(), allreduce())
}

// Find returns the benchmark of a name, with the one case after a slash, as in
// gemm/1024, or with all of them.
func Find(name string) (Benchmark, error) {
	name, only, cut := strings.Cut(name, "/")
	var names []string
	for _, b := range All() {
		names = append(names, b.Name)
		if b.Name != name {
			continue
		}
		if !cut {
			return b, nil
		}
		var cases []string
		for _, c := range b.Cases {
			if c.Name == only {
				b.Cases = []Case{c}
				return b, nil
			}
			cases = append(cases, c.Name)
		}
		return b, fmt.Errorf("%s has no case %q (there is: %s)", name, only, strings.Join(cases, ", "))
	}
	return Benchmark{}, fmt.Errorf("unknown benchmark %q (there is: %s)", name, strings.Join(names, ", "))
}

// Options say how to measure.
type Options struct {
	Batch int           // 0 for the benchmark's own
	Span  time.Duration // of measuring a case; at least 3 iterations are made
	Limit float64       // FLOPS that the kernels reach, 0 if that is not known
}

// Result is what was measured of a case, a line of JSON.
type Result struct {
	Name    string `json:"name"`
	Case    string `json:"case,omitempty"`
	Engine  string `json:"engine"`
	Batch   int    `json:"batch,omitempty"`
	Ranks   int    `json:"ranks,omitempty"`
	Samples int    `json:"samples"`
	// Seconds an iteration takes, the median; Spread is the distance of the
	// quartiles in terms of it.
	Seconds  float64 `json:"seconds"`
	Spread   float64 `json:"spread"`
	Fastest  float64 `json:"fastest_seconds"`
	ImgS     float64 `json:"img_s,omitempty"`
	QueriesS float64 `json:"queries_s,omitempty"`
	GFLOPS   float64 `json:"gflops,omitempty"`
	// BytesS is the size of what ranks sum, in bytes, by the time.
	BytesS float64 `json:"bytes_s,omitempty"`
	// Limit is what the kernels reach on this machine without anything around
	// them, measured before; Share is GFLOPS in terms of it.
	Limit float64 `json:"limit_gflops,omitempty"`
	Share float64 `json:"share,omitempty"`
	// Planned is the memory of activations, gradients and workspace, Peak the most
	// that this process has had resident so far.
	Planned float64 `json:"planned_mib,omitempty"`
	Peak    float64 `json:"peak_mib,omitempty"`
	// WithoutCuDNN counts the convolutions, a shape and direction each, for which cuDNN
	// has no algorithm and which a much slower kernel computes; nil where the engine
	// does not ask cuDNN.
	WithoutCuDNN *int `json:"convolutions_without_cudnn,omitempty"`
	// Versus is the time in terms of that of Euclidean distances.
	Versus float64 `json:"times_euclidean,omitempty"`
}

// Runner is a case that was made and is kept for several rounds.
type Runner struct {
	name, kind string
	eng        engine.Engine
	opt        Options
	batch      int
	w          *work
}

// Start makes a case and runs it a few times, so that what grows at first has
// grown.
func (b Benchmark) Start(ctx context.Context, c Case, eng engine.Engine, opt Options) (*Runner, error) {
	batch := b.Batch
	if opt.Batch > 0 {
		batch = opt.Batch
	}
	if b.Batch == 0 {
		if opt.Batch > 0 {
			return nil, fmt.Errorf("%s has no batch", b.Name)
		}
	}
	w, err := c.start(ctx, eng, batch)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.label(c), err)
	}
	r := &Runner{name: b.Name, kind: c.Name, eng: eng, opt: opt, batch: batch, w: w}
	first := 1
	if d, ok := eng.(engine.Device); ok {
		w.run = inTurn(w.run, d.Synchronize)
		first = deviceFirst
	}
	for range first {
		if err := w.run(); err != nil {
			r.Close()
			return nil, fmt.Errorf("%s: %w", b.label(c), err)
		}
	}
	return r, nil
}

// deviceFirst runs are not timed on a device, whose engine chooses algorithms
// and records graphs in them.
const deviceFirst = 5

func (b Benchmark) label(c Case) string {
	if c.Name == "" {
		return b.Name
	}
	return b.Name + "/" + c.Name
}

// Measure times iterations and returns the times too.
func (r *Runner) Measure(ctx context.Context) (Result, []float64, error) {
	times, err := measure(ctx, r.opt.Span, r.w.run)
	if err != nil {
		return Result{}, nil, err
	}
	s := summary(times)
	out := Result{
		Name: r.name, Case: r.kind, Engine: r.eng.Name(), Batch: r.batch, Samples: len(times),
		Seconds: s.median, Spread: s.spread, Fastest: s.fastest,
		ImgS: float64(r.w.images) / s.median, QueriesS: float64(r.w.queries) / s.median,
		GFLOPS: r.w.flops / s.median / 1e9, Limit: r.opt.Limit / 1e9,
		Planned: float64(r.w.planned) / (1 << 20), Peak: peakMemory() / (1 << 20),
	}
	if p, ok := r.eng.(Plainer); ok {
		n := p.PlainConvolutions()
		out.WithoutCuDNN = &n
	}
	if out.Limit > 0 {
		out.Share = out.GFLOPS / out.Limit
	}
	return out, times, nil
}

// Close releases the case.
func (r *Runner) Close() error {
	if r.w.close == nil {
		return nil
	}
	return r.w.close()
}

// Limiter is an engine that can measure what its kernels reach alone.
type Limiter interface {
	// KernelLimit returns floating-point operations a second.
	KernelLimit() float64
}

// Plainer is an engine that asks a library for convolutions.
type Plainer interface {
	// PlainConvolutions counts the shapes and directions that the library has no
	// algorithm for.
	PlainConvolutions() int
}
