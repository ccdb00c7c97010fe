package eval

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/metric"
)

// ClusterFigures are the figures of several k-means runs against the labels.
type ClusterFigures struct {
	Mean Agreement // of all restarts
	// StdNMI and StdF1 are deviations over restarts (divisor n-1, 0 for one).
	StdNMI, StdF1 float64
	K, Restarts   int
	Iterations    float64 // mean of Lloyd's
	// Unconverged counts the runs that ended at the bound of iterations.
	Unconverged int
}

// Cluster runs KMeans opt.Restarts times, each from a seed of its own, and
// averages the agreement with the labels, as BRM section 5.3 does with 20.
// The number of clusters is that of distinct labels unless opt.K says more.
func Cluster(ctx context.Context, eng Engine, e *Embeddings, m metric.Metric, opt KMeansOptions) (*ClusterFigures, error) {
	eng, done, err := OrCPU(eng)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := e.ValidateLabeled(); err != nil {
		return nil, err
	}
	if opt.K == 0 {
		_, distinct := Compact(e.Labels)
		opt.K = len(distinct)
	}
	if opt.Restarts == 0 {
		opt.Restarts = defaultRestarts
	}
	c, err := newClusterer(eng, e, m, opt)
	if err != nil {
		return nil, err
	}
	runs, err := c.runs(ctx, e.Labels, opt)
	if err != nil {
		return nil, err
	}
	f := &ClusterFigures{K: opt.K, Restarts: opt.Restarts}
	f.average(runs)
	return f, nil
}

// clusterRun is what a restart adds to the figures.
type clusterRun struct {
	Agreement  Agreement
	Iterations int64
	Converged  bool
}

// runs are all restarts, of which each rank computes a share. All ranks stop behind the
// same number of their own.
func (c *clusterer) runs(ctx context.Context, labels []int, opt KMeansOptions) ([]clusterRun, error) {
	ranks := comm.OrSingle(opt.Comm)
	within, n, size := ctx, opt.Restarts, ranks.Size()
	if size > 1 {
		within = context.WithoutCancel(ctx)
	}
	var own []clusterRun
	first, end := comm.Share(n, ranks.Rank(), size)
	for k := range (n + size - 1) / size {
		if i := first + k; i < end {
			r, err := c.run(within, rand.New(rand.NewPCG(opt.Seed, uint64(i))))
			if err != nil {
				return nil, err
			}
			a, err := CompareClusters(labels, r.Assignment)
			if err != nil {
				return nil, err
			}
			own = append(own, clusterRun{a, int64(r.Iterations), r.Converged})
		}
		if err := comm.Stopped(ctx, ranks); err != nil {
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress(min(n, (k+1)*size), n)
		}
	}
	return comm.Concat(ranks, own)
}

func (f *ClusterFigures) average(runs []clusterRun) {
	var nmi, f1 []float64
	n := float64(len(runs))
	sum := &f.Mean
	for _, r := range runs {
		a := r.Agreement
		if f.Iterations += float64(r.Iterations) / n; !r.Converged {
			f.Unconverged++
		}
		nmi, f1 = append(nmi, a.NMI), append(f1, a.PairwiseF1)
		for _, add := range []struct{ to, v *float64 }{
			{&sum.NMI, &a.NMI}, {&sum.AMI, &a.AMI}, {&sum.ARI, &a.ARI}, {&sum.Homogeneity, &a.Homogeneity},
			{&sum.Completeness, &a.Completeness}, {&sum.VMeasure, &a.VMeasure}, {&sum.FowlkesMallows, &a.FowlkesMallows},
			{&sum.PairwiseF1, &a.PairwiseF1}, {&sum.Purity, &a.Purity}, {&sum.MutualInformation, &a.MutualInformation},
			{&sum.Pairs.TP, &a.Pairs.TP}, {&sum.Pairs.FP, &a.Pairs.FP}, {&sum.Pairs.FN, &a.Pairs.FN},
		} {
			*add.to += *add.v / n
		}
	}
	f.StdNMI, f.StdF1 = deviation(nmi), deviation(f1)
}

// deviation is the sample standard deviation, 0 for fewer than two numbers.
func deviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	mean, sum := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}
