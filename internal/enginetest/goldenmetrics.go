package enginetest

import (
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

func (s *suite) goldenMetrics(t *testing.T) {
	golden.WalkFS(t, goldenFiles(t), "brm", func(t *testing.T, c *golden.Case) {
		g := &goldenCase{t: t, eng: s.eng, c: c, rel: max(golden.Rel32, s.opt.Sum), tensors: map[string]engine.Tensor{}}
		switch {
		case strings.HasPrefix(c.Name, "losses_"):
			t.Skip("a case of the losses, which no Engine knows")
		case strings.HasPrefix(c.Name, "pairwise_"):
			g.do(guard(func() error { return g.metrics("embeddings", "embeddings") }))
		case strings.HasPrefix(c.Name, "query_gallery_"):
			g.do(guard(func() error { return g.metrics("query", "gallery") }))
		default:
			t.Fatalf("%s: unknown kind of case %q", c.Path, c.Name)
		}
	})
}

// metrics tests every form of the case's metric between two inputs, which may
// be one.
func (g *goldenCase) metrics(a, b string) error {
	forms, err := metricForms(g.c.Params)
	if err != nil {
		return err
	}
	n, k := g.c.Inputs[a].Shape[0], g.c.Inputs[b].Shape[0]
	results := map[string]engine.Tensor{}
	for name, m := range forms {
		d := g.like([]int{n, k})
		g.do(g.eng.Pairwise(d, g.in(a), g.in(b), m))
		results[name] = d
		v, err := numbers(g.eng, d)
		if err != nil {
			return err
		}
		sum := 0.0
		for i, w := range g.c.Inputs["weights"].Data {
			sum += w * float64(v[i])
		}
		scalar := "weighted_sum_" + name
		if results[scalar], err = newTensor(g.eng, array{[]int{1}, []float32{float32(sum)}}); err != nil {
			return err
		}
		da, db := g.like(g.c.Inputs[a].Shape), engine.Tensor(nil)
		if a == b {
			g.do(g.eng.PairwiseGrad(da, da, g.in("weights"), d, g.in(a), g.in(a), m))
			results["grad_"+scalar] = da
			continue
		}
		db = g.like(g.c.Inputs[b].Shape)
		g.do(g.eng.PairwiseGrad(da, db, g.in("weights"), d, g.in(a), g.in(b), m))
		results["grad_"+a+"_"+scalar], results["grad_"+b+"_"+scalar] = da, db
	}
	return g.want(results)
}

// metricForms returns the metrics that a case's outputs are named after: D and
// Dp (D^p) of BRM, M of a plain one.
func metricForms(p golden.Params) (map[string]metric.Metric, error) {
	if name := p.String("metric", ""); name != "" {
		m, err := metric.Parse(name)
		return map[string]metric.Metric{"M": m}, err
	}
	r, err := metric.ParseRestriction(p.String("R", ""))
	if err != nil {
		return nil, err
	}
	d := metric.Metric{Kind: metric.BRM, Restriction: r, Omega: p.Float("w", math.NaN()), P: p.Int("p", 0)}.Canonical()
	power := d
	power.Power = true
	return map[string]metric.Metric{"D": d, "Dp": power.Canonical()}, d.Validate()
}
