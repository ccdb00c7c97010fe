package eval

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/metric"
)

// Options say what Evaluate computes. The zero value gives Recall@1, 2, 4 and
// 8, ranks ties pessimistically and clusters 20 times.
type Options struct {
	Ks       []int      // of Recall@K; nil means 1, 2, 4, 8
	Restarts int        // of k-means; 0 means 20, negative means no clustering
	Center   CenterRule // of k-means; the zero value is the mean
	Seed     uint64
	Ties     TieRule
	Split    string // what the rows are, such as "test classes"; only reported
	MaxPairs int    // of each kind, for distances and verification; see PairOptions
	Memory   int64  // see SearchOptions
	Workers  int    // see SearchOptions
	// Comm connects ranks that take a share of the queries and of the restarts of k-means
	// each, see SearchOptions; nil for one.
	Comm comm.Comm
	// PerClass asks for Figures.PerClass, where ClassName names a label; nil
	// writes its number.
	PerClass  bool
	ClassName func(label int) string
	// Super, if set, names the super-class of a label, for Figures.SuperClasses.
	Super func(label int) string
	// Gallery, if set, is searched in place of the rows themselves, of which none is
	// left out. Retrieval is then of the rows as queries; clusters, distances and
	// geometry are of both together.
	Gallery *Embeddings
	// Groups, if set, leave rows of a query's class and group out of its ranking, and
	// pairs of one class and group out of distances and verification. Without a Gallery
	// both its lists are those of the rows.
	Groups *Groups
	// Rerank are ways of re-ranking whose figures stand beside those of plain search.
	Rerank []Reranker
	// Ranks, if set, receives what the figures of retrieval come from.
	Ranks func(*Retrieval)
	// Progress, if set, is called with how much of a stage (retrieval, a way of
	// re-ranking, clustering, geometry) is done.
	Progress func(stage string, done, total int)
}

// Evaluate measures labeled embeddings, each row being a query against all the
// others, with the metric m throughout. There must be at least two classes, one
// of them with two rows.
func Evaluate(ctx context.Context, eng Engine, e *Embeddings, m metric.Metric, opt Options) (*Figures, error) {
	eng, done, err := OrCPU(eng)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := e.ValidateLabeled(); err != nil {
		return nil, err
	}
	all, err := e.with(opt.Gallery)
	if err != nil {
		return nil, err
	}
	_, distinct := Compact(all.Labels)
	if len(distinct) < 2 {
		name := strconv.Itoa(distinct[0])
		if opt.ClassName != nil {
			name = strconv.Quote(opt.ClassName(distinct[0]))
		}
		return nil, fmt.Errorf("eval: all %d rows are of class %s: every figure would be perfect by construction, give at least two classes", all.N, name)
	}
	if opt.Ks == nil {
		opt.Ks = []int{1, 2, 4, 8}
	}
	for _, k := range opt.Ks {
		if k < 1 {
			return nil, fmt.Errorf("eval: Recall@%d is undefined, K starts at 1", k)
		}
	}
	f := &Figures{Distance: m.String(), Split: opt.Split, Queries: e.N, Classes: len(distinct), Dimension: e.H}
	if err := f.retrieval(ctx, eng, e, m, opt); err != nil {
		return nil, err
	}
	if e.Distances != nil { // which nothing but retrieval can use
		return f, ctx.Err()
	}
	if opt.Restarts >= 0 {
		if err := f.clustering(ctx, eng, all, m, opt); err != nil {
			return nil, err
		}
	}
	if err := f.geometry(all, m, opt); err != nil {
		return nil, err
	}
	return f, ctx.Err()
}

func (opt Options) stage(name string) func(done, total int) {
	if opt.Progress == nil {
		return nil
	}
	return func(done, total int) { opt.Progress(name, done, total) }
}

func (f *Figures) retrieval(ctx context.Context, eng Engine, e *Embeddings, m metric.Metric, opt Options) error {
	search := SearchOptions{Groups: opt.Groups, Memory: opt.Memory, Workers: opt.Workers, Comm: opt.Comm, Progress: opt.stage("retrieval")}
	gallery := opt.Gallery
	if gallery == nil {
		gallery, search.Self = e, LeaveOneOut(e.N)
	} else {
		f.Gallery = gallery.N
	}
	r, err := Retrieve(ctx, eng, e, gallery, m, RetrievalOptions{SearchOptions: search, Ties: opt.Ties, Seed: opt.Seed})
	if err != nil {
		return err
	}
	if opt.Ranks != nil {
		opt.Ranks(r)
	}
	if opt.Groups != nil {
		area := r.TrapezoidMAP()
		f.TrapezoidMAP = &area
	}
	for _, k := range opt.Ks {
		f.Recall = append(f.Recall, Recall{K: k, Percent: r.RecallAt(k), WithoutLone: r.RecallAtWithoutLone(k)})
		in, err := r.RecallInterval(k, BootstrapOptions{Seed: opt.Seed})
		if err != nil {
			return err
		}
		f.Intervals = append(f.Intervals, RecallInterval{k, in.Low, in.High})
	}
	f.Ties, f.LoneQueries, f.TiedQueries = r.Ties.String(), r.Lone, r.Tied
	f.AverageFigures = AverageFigures(r.Averages())
	f.ClassAverages = AverageFigures(r.ClassAverages())
	f.groups(r, e.Labels, opt)
	for _, way := range opt.Rerank {
		search.Progress = opt.stage(way.String())
		began := time.Now()
		r, err := way.Retrieve(ctx, eng, e, gallery, m, RetrievalOptions{SearchOptions: search, Ties: opt.Ties, Seed: opt.Seed})
		if err != nil {
			return fmt.Errorf("%v: %w", way, err)
		}
		again := RerankedFigures{Method: way.String(), Seconds: time.Since(began).Seconds(), AverageFigures: AverageFigures(r.Averages())}
		for _, k := range opt.Ks {
			again.Recall = append(again.Recall, RecallFigure{k, r.RecallAt(k)})
		}
		f.Reranked = append(f.Reranked, again)
	}
	return nil
}

// Reranker is a way of putting neighbors in another order, see package rerank.
type Reranker interface {
	fmt.Stringer
	// Retrieve ranks the gallery for every query.
	Retrieve(ctx context.Context, eng Engine, queries, gallery *Embeddings, m metric.Metric, opt RetrievalOptions) (*Retrieval, error)
}

func (f *Figures) clustering(ctx context.Context, eng Engine, e *Embeddings, m metric.Metric, opt Options) error {
	center := opt.Center
	if m.Kind != metric.BRM && center == CenterOfMetric {
		center = CenterMean // which is the same, and is what is reported
	}
	c, err := Cluster(ctx, eng, e, m, KMeansOptions{
		Restarts: opt.Restarts, Center: center, Seed: opt.Seed, Memory: opt.Memory, Workers: opt.Workers, Comm: opt.Comm, Progress: opt.stage("clustering"),
	})
	if err != nil {
		return err
	}
	a := c.Mean
	f.NMI, f.F1 = &a.NMI, &a.PairwiseF1
	f.Clustering = &ClusteringFigures{
		NMIMean: "arithmetic", Center: center.String(), Clusters: c.K, Restarts: c.Restarts, NMIStd: c.StdNMI, F1Std: c.StdF1,
		AMI: a.AMI, ARI: a.ARI, Homogeneity: a.Homogeneity, Completeness: a.Completeness,
		Purity: a.Purity, FowlkesMallows: a.FowlkesMallows, Iterations: c.Iterations, Unconverged: c.Unconverged,
	}
	return nil
}

// spectrumLimit is the largest dimension whose spectrum is computed: beyond, its
// singular values take longer than all other figures together.
const spectrumLimit = 1024

func (f *Figures) geometry(e *Embeddings, m metric.Metric, opt Options) error {
	report := opt.stage("geometry")
	if report == nil {
		report = func(int, int) {}
	}
	report(0, 3)
	pi, err := Pi(e)
	if err != nil {
		return err
	}
	report(1, 3)
	if e.H <= spectrumLimit {
		s, err := SpectralDecay(e)
		if err != nil {
			return err
		}
		f.Geometry.SpectralDecay, f.Geometry.EffectiveRank = finite(s.Decay), &s.EffectiveRank
	}
	report(2, 3)
	p, err := SamplePairs(e, m, PairOptions{Max: opt.MaxPairs, Seed: opt.Seed, Groups: opt.Groups.ofAll(opt.Gallery != nil), Workers: opt.Workers})
	if err != nil {
		return err
	}
	margin := p.MarginRange()
	g := &f.Geometry
	g.PiIntra, g.PiInter, g.PiRatio = finite(pi.Intra), finite(pi.Inter), finite(pi.Ratio)
	g.Intra, g.Inter = newSpreadFigures(p.Intra, p.AllIntra), newSpreadFigures(p.Inter, p.AllInter)
	g.Margin, g.Range, g.MarginRangeRatio = finite(margin.Margin), finite(margin.Range), finite(margin.Ratio)
	roc, err := p.ROC()
	if err != nil {
		return err // cannot be: there is a pair of each kind
	}
	f.Verification = newVerificationFigures(roc)
	report(3, 3)
	return nil
}

// finite is nil for numbers that JSON does not know.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
