package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

func TestPairsFileNamesIdentitiesByConnectedImages(t *testing.T) {
	l, err := ReadPairs(strings.NewReader("\ufeffa,B,Same,remark\r\nx1.png,x2.png,1,\r\ny1.png,x1.png,0,\r\nx2.png,x3.png,true,far\r\ny1.png,\"y,2.png\",same,\r\n"))
	fatal(t, err)
	if want := []string{"x1.png", "x2.png", "y1.png", "x3.png", "y,2.png"}; !slices.Equal(l.Paths, want) {
		t.Errorf("paths %q, want %q", l.Paths, want)
	}
	if want := []string{"x1.png", "x1.png", "y1.png", "x1.png", "y1.png"}; !slices.Equal(l.Identity, want) || l.Stated {
		t.Errorf("identities %q (stated %v), want %q", l.Identity, l.Stated, want)
	}
	if want := []Pair{{0, 1, true}, {2, 0, false}, {1, 3, true}, {2, 4, true}}; !slices.Equal(l.Pairs, want) {
		t.Errorf("pairs %v, want %v", l.Pairs, want)
	}
}

func TestBadPairsFilesAreRefusedByLine(t *testing.T) {
	for text, says := range map[string]string{
		"":                                "empty",
		"x,y,1\n":                         `no column "a"`,
		"a,b,same\n":                      "no pairs",
		"a,b,same\nx,y,1\nx,z,maybe\n":    `line 3: same is "maybe"`,
		"a,b,same\nx,y\n":                 "line 2",
		"a,b,same\nx,x,1\n":               "line 2: x is paired with itself",
		"a,b,same\n,x,1\n":                "line 2: a path is empty",
		"a,b,same\nx,y,1\ny,z,1\nx,z,0\n": "line 4: x and z are called different, but both are of identity",
		"a,b,same,identity_a\nx,y,1,p\n":  "want both or none",
		"a,b,same,identity_a,identity_b\nx,y,1,p,q\n":            "called the same, but are of identities",
		"a,b,same,identity_a,identity_b\nx,y,0,p,q\nx,z,0,q,r\n": "line 3: x is of identity \"q\" here and of \"p\" before",
		"a,b,same,identity_a,identity_b\nx,y,0,p,\n":             "line 2: the identity of y is empty",
	} {
		if _, err := ReadPairs(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %q", text, err, says)
		}
	}
}

func TestASplitOfPairsSharesNoIdentity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("a,b,same,identity_a,identity_b\n")
	for range 400 {
		i, j := rng.IntN(12), rng.IntN(12)
		fmt.Fprintf(&b, "%d_%d,%d_%d,%t,id%d,id%d\n", i, rng.IntN(5), j, 5+rng.IntN(5), i == j, i, j)
	}
	l, err := ReadPairs(strings.NewReader(b.String()))
	fatal(t, err)
	for seed := range uint64(5) {
		first, second, across, err := l.Split(0.5, seed)
		fatal(t, err)
		if len(first)+len(second)+across != 400 || len(first) == 0 || len(second) == 0 {
			t.Errorf("%d and %d pairs and %d across, want 400 in all", len(first), len(second), across)
		}
		if err := DisjointIdentities(l.Identities(first), l.Identities(second)); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	first, second, _, err := l.Split(0.5, 1)
	fatal(t, err)
	if err := DisjointIdentities(l.Identities(first), append(l.Identities(second), l.Identity[first[0].A])); err == nil || !strings.Contains(err.Error(), l.Identity[first[0].A]) {
		t.Errorf("a shared identity is not named: %v", err)
	}
}

func TestIdentitiesAreDividedByShare(t *testing.T) {
	var ids []string
	for i := range 60 {
		ids = append(ids, fmt.Sprint(i%20))
	}
	for share, want := range map[float64]int{0.5: 30, 0.01: 6, 0.99: 54, 0.25: 15} {
		c, test, err := SplitIdentities(ids, share, 1)
		fatal(t, err)
		if len(c) != want || len(test) != 60-want {
			t.Errorf("share %v: %d and %d rows, want %d and %d", share, len(c), len(test), want, 60-want)
		}
	}
	for _, bad := range []struct {
		ids   []string
		share float64
		says  string
	}{{ids[:3], 0.5, "3 identities cannot be divided"}, {ids, 1, "share 1"}, {ids, 0, "share 0"}} {
		if _, _, err := SplitIdentities(bad.ids, bad.share, 1); err == nil || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("error %v, want %q", err, bad.says)
		}
	}
}

func TestGivenPairsAreMeasuredAsDistanceDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	e := &Embeddings{N: 20, H: 5}
	for range e.N * e.H {
		e.X = append(e.X, float32(rng.NormFloat64()))
	}
	for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}, {Kind: metric.BRM, P: 1}, {Kind: metric.SignalToNoise}} {
		var pairs []Pair
		var same, different []float64
		for range 50 {
			p := Pair{rng.IntN(20), rng.IntN(20), rng.IntN(2) == 0}
			d, err := Distance(m, e.Row(p.A), e.Row(p.B))
			fatal(t, err)
			if pairs = append(pairs, p); p.Same {
				same = append(same, d)
			} else {
				different = append(different, d)
			}
		}
		d, err := MeasurePairs(e, m, pairs, 2)
		fatal(t, err)
		slices.Sort(same)
		slices.Sort(different)
		if !slices.Equal(d.Intra, same) || !slices.Equal(d.Inter, different) {
			t.Errorf("%s: distances differ from those of Distance", m)
		}
	}
	if _, err := MeasurePairs(e, metric.Metric{Kind: metric.Euclidean}, []Pair{{0, 20, true}}, 0); err == nil || !strings.Contains(err.Error(), "rows 0 and 20, there are 20") {
		t.Errorf("a row beyond the last: %v", err)
	}
}

func TestPairsOfImagesThatAreDroppedGoToo(t *testing.T) {
	l, err := ReadPairs(strings.NewReader("a,b,same\np,q,1\np,r,0\nr,s,1\nq,s,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Keep([]bool{true}); err == nil {
		t.Error("another number of images is no error")
	}
	n, err := l.Keep([]bool{true, false, true, true}) // p, r, s
	if err != nil || n != 2 || !slices.Equal(l.Paths, []string{"p", "r", "s"}) || !slices.Equal(l.Pairs, []Pair{{0, 1, false}, {1, 2, true}}) ||
		!slices.Equal(l.Rows, []int{3, 4}) || !slices.Equal(l.Identity, []string{"p", "r", "r"}) {
		t.Errorf("%d dropped, %+v, %v", n, l, err)
	}
	if _, err := l.Keep([]bool{true, false, true}); err == nil || !strings.Contains(err.Error(), "there are no pairs") {
		t.Errorf("%v", err)
	}
}
