package eval

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

func TestIdenticalOneClusterLabelingsHaveNMIOne(t *testing.T) {
	a, err := CompareClusters([]int{3, 3, 3}, []int{0, 0, 0})
	fatal(t, err)
	if a.NMI != 1 || a.AMI != 1 || a.ARI != 1 || a.Homogeneity != 1 || a.Completeness != 1 || a.PairwiseF1 != 1 {
		t.Errorf("got %+v", a)
	}
	a, err = CompareClusters([]int{1, 2, 3, 4}, []int{9, 9, 9, 9})
	fatal(t, err)
	if a.NMI != 0 || a.AMI != 0 || a.ARI != 0 || a.Completeness != 1 {
		t.Errorf("one cluster of several classes: %+v", a)
	}
}

// Names of groups do not matter, nor does the order of rows; NMI, AMI, ARI and
// the pair figures are symmetric in truth and clusters but for precision and
// recall changing places.
func TestAgreementIsSymmetricAndIgnoresNames(t *testing.T) {
	rng := seeded(21)
	for range 20 {
		n := 2 + rng.IntN(60)
		truth, assignment := make([]int, n), make([]int, n)
		for i := range n {
			truth[i], assignment[i] = rng.IntN(5)*7-9, rng.IntN(6)
		}
		a, err := CompareClusters(truth, assignment)
		fatal(t, err)
		order := rng.Perm(n)
		renamed, moved := make([]int, n), make([]int, n)
		for i, j := range order {
			renamed[i], moved[i] = -truth[j], 100-assignment[j]*3
		}
		b, err := CompareClusters(moved, renamed)
		fatal(t, err)
		for name, pair := range map[string][2]float64{
			"NMI": {a.NMI, b.NMI}, "AMI": {a.AMI, b.AMI}, "ARI": {a.ARI, b.ARI}, "F1": {a.PairwiseF1, b.PairwiseF1},
			"homogeneity": {a.Homogeneity, b.Completeness}, "FM": {a.FowlkesMallows, b.FowlkesMallows}, "FP": {a.Pairs.FP, b.Pairs.FN},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%s: %v and %v", name, pair[0], pair[1])
			}
		}
		if v := 2 * a.Homogeneity * a.Completeness / (a.Homogeneity + a.Completeness); a.NMI > 0 && math.Abs(v-a.VMeasure) > 1e-9 {
			t.Errorf("V-measure %v is not the harmonic mean %v", a.VMeasure, v)
		}
	}
}

// The expected mutual information against the mean over random shuffles.
func TestExpectedInformationIsTheMeanOverShuffles(t *testing.T) {
	rng := seeded(22)
	truth := []int{0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3}
	assignment := []int{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2}
	want := newContingency(truth, assignment).expectedInformation()
	const shuffles = 40000
	sum := 0.0
	for range shuffles {
		rng.Shuffle(len(assignment), func(i, j int) { assignment[i], assignment[j] = assignment[j], assignment[i] })
		sum += newContingency(truth, assignment).mutualInformation()
	}
	if got := sum / shuffles; math.Abs(got-want) > 0.01 {
		t.Errorf("expected information is %v, the mean over shuffles %v", want, got)
	}
}

func TestClustersOfSeparatedClassesAreTheClasses(t *testing.T) {
	e := blobs(seeded(23), 12, 8, 16, 0.05)
	for i, l := range e.Labels {
		e.Labels[i] = 98 + 3*l // Cars' test labels start at 98: k is the number of distinct ones
	}
	for _, m := range testMetrics() {
		f, err := Cluster(context.Background(), hostEngine{}, e, m, KMeansOptions{Restarts: 8, Seed: 1})
		fatal(t, err)
		if f.K != 12 {
			t.Errorf("%v: %d clusters, want 12", m, f.K)
		}
		if f.Mean.NMI < 0.93 || f.Unconverged > 0 {
			t.Errorf("%v: NMI %v, %d runs unconverged", m, f.Mean.NMI, f.Unconverged)
		}
	}
}

func TestClusteringDoesNotDependOnWorkersOrMemory(t *testing.T) {
	e := blobs(seeded(24), 20, 9, 8, 0.9)
	for _, m := range []metric.Metric{{Kind: metric.Cosine}, {P: 2}, {P: 1}} {
		var want *Clustering
		for _, opt := range []KMeansOptions{{Workers: 1}, {Workers: 5}, {Workers: 2, Memory: 1}, {Memory: 8 * 64 * 17}} {
			opt.K, opt.Seed = 20, 3
			got, err := KMeans(context.Background(), hostEngine{}, e, m, opt)
			fatal(t, err)
			if want == nil {
				want = got
			}
			if !slices.Equal(got.Assignment, want.Assignment) || !slices.Equal(got.Centers, want.Centers) || got.Inertia != want.Inertia {
				t.Errorf("%v: %+v changes the clusters", m, opt)
			}
		}
		opt := KMeansOptions{K: 20, Seed: 4}
		other, err := KMeans(context.Background(), hostEngine{}, e, m, opt)
		fatal(t, err)
		if slices.Equal(other.Assignment, want.Assignment) {
			t.Errorf("%v: another seed gives the same clusters", m)
		}
	}
}

// Every row is with its nearest center, every center is the mean of its rows,
// and no cluster is empty.
func TestConvergedClustersAreAFixedPoint(t *testing.T) {
	e := blobs(seeded(25), 15, 10, 6, 1)
	for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}, {P: 2}, {Restriction: metric.ISRU, Omega: 0.1, P: 2}} {
		r, err := KMeans(context.Background(), hostEngine{}, e, m, KMeansOptions{K: 15, Seed: 2})
		fatal(t, err)
		if !r.Converged {
			t.Errorf("%v: not converged after %d iterations", m, r.Iterations)
			continue
		}
		x := e.X
		if m.Kind == metric.Cosine {
			x = unitRows(e.X, e.H)
		}
		o, err := clusterOrder(m)
		fatal(t, err)
		mean, size := make([]float64, len(r.Centers)), make([]float64, r.K)
		for i, a := range r.Assignment {
			row := x[i*e.H:][:e.H]
			own := o.centerKey(row, r.Centers[a*e.H:][:e.H])
			for k := range r.K {
				if key := o.centerKey(row, r.Centers[k*e.H:][:e.H]); key < own-1e-5 {
					t.Errorf("%v: row %d is in cluster %d at %v, but %d is at %v", m, i, a, own, k, key)
				}
			}
			size[a]++
			for j, v := range row {
				mean[a*e.H+j] += float64(v)
			}
		}
		for i, v := range mean {
			n := size[i/e.H]
			if n == 0 {
				t.Fatalf("%v: cluster %d is empty", m, i/e.H)
			}
			if math.Abs(v/n-r.Centers[i]) > 1e-9 {
				t.Errorf("%v: center %d is not its mean", m, i/e.H)
			}
		}
	}
}

// In the saturated range means are poor centers and assignments go in circles:
// the run must end, with one of its best states.
func TestSaturatedBRMEnds(t *testing.T) {
	e := scaled(blobs(seeded(100), 40, 10, 6, 1), 3)
	m := metric.Metric{Restriction: metric.TanH, P: 1}
	r, err := KMeans(context.Background(), hostEngine{}, e, m, KMeansOptions{K: 40, Seed: 2})
	fatal(t, err)
	if r.Converged {
		t.Fatal("converged: the test needs a harder set")
	}
	o, err := clusterOrder(m)
	fatal(t, err)
	sum := 0.0
	for i, a := range r.Assignment {
		sum += o.centerKey(e.Row(i), r.Centers[a*e.H:][:e.H])
	}
	if math.Abs(sum-r.Inertia) > 1e-9*sum {
		t.Errorf("inertia %v, of the returned state %v", r.Inertia, sum)
	}
}

// Where means go in circles, the centers of the metric itself converge, and to
// a smaller inertia.
func TestCentersOfTheMetricConverge(t *testing.T) {
	e := scaled(blobs(seeded(100), 40, 10, 6, 1), 3)
	for _, m := range []metric.Metric{{P: 2}, {P: 1}, {Restriction: metric.TanH, P: 1}, {Restriction: metric.SoftSign, P: 2}, {Restriction: metric.ISRU, Omega: 0.5, P: 2}} {
		mean, err := KMeans(context.Background(), hostEngine{}, e, m, KMeansOptions{K: 40, Seed: 2})
		fatal(t, err)
		own, err := KMeans(context.Background(), hostEngine{}, e, m, KMeansOptions{K: 40, Seed: 2, Center: CenterOfMetric})
		fatal(t, err)
		if !own.Converged || own.Inertia > mean.Inertia {
			t.Errorf("%v: converged %v to inertia %v, with means %v", m, own.Converged, own.Inertia, mean.Inertia)
		}
	}
}

// One wild coordinate moves the mean, not the center of BRM.
func TestCenterOfTheMetricIgnoresAnOutlier(t *testing.T) {
	e := &Embeddings{X: []float32{0, 0.1, -0.1, 0.05, 1000}, N: 5, H: 1}
	c, err := newClusterer(hostEngine{}, e, metric.Metric{P: 2}, KMeansOptions{K: 1})
	fatal(t, err)
	center := []float64{200.01}
	c.relax(center, []float64{200}, []int32{0, 1, 2, 3, 4})
	if math.Abs(center[0]) > 0.05 {
		t.Errorf("center %v, want one among the four", center[0])
	}
}

func TestEmptyClusterTakesTheFarthestRow(t *testing.T) {
	e := &Embeddings{X: []float32{0, 1, 10, 11, 50}, N: 5, H: 1}
	// No row is nearest to 1000; 50 is farthest from its center.
	r, err := lloyd(context.Background(), hostEngine{}, e, metric.Metric{Kind: metric.Euclidean}, []float64{0, 11, 1000})
	fatal(t, err)
	if want := []int{0, 0, 1, 1, 2}; !slices.Equal(r.Assignment, want) || math.Abs(r.Inertia-1) > 1e-9 || r.Centers[2] != 50 {
		t.Errorf("assignment %v, inertia %v, centers %v", r.Assignment, r.Inertia, r.Centers)
	}
}

func TestFewerPlacesThanClusters(t *testing.T) {
	e := &Embeddings{N: 40, H: 3}
	for i := range 40 {
		v := float32(i % 2)
		e.X = append(e.X, v, 2*v, 0.5)
		e.Labels = append(e.Labels, i%8)
	}
	for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}, {P: 2}} {
		r, err := KMeans(context.Background(), hostEngine{}, e, m, KMeansOptions{K: 8})
		fatal(t, err)
		if r.K != 2 || !r.Converged || r.Assignment[0] == r.Assignment[1] {
			t.Errorf("%v: %d clusters of 2 places, assignment %v", m, r.K, r.Assignment[:4])
		}
	}
}

// k-means++ in batches draws from the same distribution as one at a time: on a
// line of unequal points, the pair of first two centers is compared with its
// exact probability.
func TestBatchedPlusPlusDrawsLikeTheSequentialOne(t *testing.T) {
	e := &Embeddings{X: []float32{0, 1, 3, 7}, N: 4, H: 1}
	c, err := newClusterer(hostEngine{}, e, metric.Metric{Kind: metric.Euclidean}, KMeansOptions{K: 3})
	fatal(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	const draws = 30000
	count := map[[2]int]float64{}
	for range draws {
		weight := []float64{0, 1, 9, 49} // after row 0
		rows := []int{0, 0, 0, 0, 0, 0, 0, 0}
		for i := range rows {
			for u := rng.Float64() * 59; u > weight[rows[i]]; rows[i]++ {
				u -= weight[rows[i]]
			}
		}
		accepted, err := c.accept(rng, weight, rows, 2)
		fatal(t, err)
		if len(accepted) == 2 {
			count[[2]int{accepted[0], accepted[1]}]++
		}
	}
	total := 0.0
	for _, n := range count {
		total += n
	}
	// After 0 and 7 the weights of 1 and 3 are 1 and 9; after 0 and 3, of 1 and
	// 7, 1 and 16; after 0 and 1, of 3 and 7, 4 and 36. Ratios between seconds
	// of one first do not depend on how many batches gave two.
	for _, c := range []struct {
		a, b [2]int
		want float64
	}{{[2]int{3, 1}, [2]int{3, 2}, 1.0 / 9}, {[2]int{2, 1}, [2]int{2, 3}, 1.0 / 16}, {[2]int{1, 2}, [2]int{1, 3}, 4.0 / 36}} {
		a, b := count[c.a], count[c.b]
		if p, want := a/(a+b), c.want/(1+c.want); math.Abs(p-want) > 5*math.Sqrt(want/(a+b)) {
			t.Errorf("%v against %v: share %v of %v, want %v", c.a, c.b, p, a+b, want)
		}
	}
}

func TestBadClusteringIsRefused(t *testing.T) {
	e := blobs(seeded(26), 2, 3, 2, 1)
	for _, k := range []int{-1, 7} {
		_, err := Cluster(context.Background(), hostEngine{}, e, metric.Metric{P: 2}, KMeansOptions{K: k})
		if err == nil || !strings.Contains(err.Error(), "want 1 to 6") {
			t.Errorf("k = %d: error %v", k, err)
		}
	}
	if _, err := CompareClusters([]int{1}, []int{1, 2}); err == nil || !strings.Contains(err.Error(), "1 labels and 2 cluster") {
		t.Errorf("error %v", err)
	}
}
