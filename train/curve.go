package train

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
)

// CurvePoint are figures on the test classes after an epoch. They choose
// nothing.
type CurvePoint struct {
	Epoch int `json:"epoch"`
	Steps int `json:"steps"`
	// Alone is of each image alone, Shuffled of batches in drawn order; nil
	// without geometry flow.
	Alone    CurveFigures  `json:"alone"`
	Shuffled *CurveFigures `json:"shuffled,omitempty"`
}

// CurveFigures are the figures of a point: Recall1 in percent.
type CurveFigures struct {
	Recall1 float64 `json:"recall@1"`
	NMI     float64 `json:"nmi"`
	F1      float64 `json:"f1"`
}

// curveRestarts are those of k-means at a point of a curve.
const curveRestarts = 3

// point measures the model as it is on the test classes.
func (s *Session) point(ctx context.Context, epoch int) (p CurvePoint, err error) {
	if s.tester == nil {
		if s.tester, err = s.testEmbedded(); err != nil {
			return p, err
		}
	}
	e := s.tester
	p = CurvePoint{Epoch: epoch, Steps: s.opti.Steps()}
	opt := MeasureOptions{Selection: Selection{Options: s.opt}, Restarts: curveRestarts, Ks: []int{1}}
	rows, err := EmbedSet(ctx, s.model, e.loader, len(e.Set.Items), "test classes", s.ev)
	if err != nil {
		return p, err
	}
	if p.Alone, err = e.curveFigures(ctx, rows.Embeddings, opt); err != nil {
		return p, err
	}
	if s.model.Spec.Flow == "" {
		return p, nil
	}
	embedder, err := s.model.NewMixedEmbedder("")
	if err != nil {
		return p, err
	}
	defer embedder.Close()
	order, _ := e.orders()
	mixed, err := e.embedMixed(ctx, embedder, order, e.mixedBatch(opt), "test classes, mixed", opt)
	if err != nil {
		return p, err
	}
	shuffled, err := e.curveFigures(ctx, mixed, opt)
	p.Shuffled = &shuffled
	return p, err
}

// testEmbedded is an Embedded of the test classes without embeddings. It owns no
// images.
func (s *Session) testEmbedded() (*Embedded, error) {
	e := &Embedded{Model: s.model, Set: s.sets.test, cfg: s.cfg, pipeline: s.pipeline, features: s.features}
	return e, e.open(data.LoaderOptions{Workers: s.opt.Workers})
}

func (e *Embedded) curveFigures(ctx context.Context, x *eval.Embeddings, opt MeasureOptions) (CurveFigures, error) {
	f, err := e.evaluate(ctx, "test classes", x, e.Model.Spec.Metric, opt)
	if err != nil {
		return CurveFigures{}, fmt.Errorf("test classes: %w", err)
	}
	return CurveFigures{Recall1: f.Recall[0].Percent, NMI: *f.NMI, F1: *f.F1}, nil
}
