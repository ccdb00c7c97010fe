package train

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
)

// proxySpread is how far the several proxies of one class start from its mean,
// as a share of the mean's length.
const proxySpread = .1

// startProxies places each proxy at the mean of its class as the untrained
// network sees it: proxies drawn at random would first have to find their
// classes. Where a class has several they start around the mean.
func (s *Session) startProxies(ctx context.Context) error {
	p := s.model.Params.Get(losses.ClassRowsParam)
	if p == nil || p.Role != layers.Proxy {
		return nil
	}
	loader, err := s.loader(s.sets.fit, s.pipeline)
	if err != nil {
		return err
	}
	e, err := EmbedSet(ctx, s.model, loader, len(s.sets.fit.Items), "placing proxies", s.ev)
	if err != nil {
		return err
	}
	h, classes := s.model.Spec.Dim, len(s.sets.fit.Classes)
	mean := make([]float64, classes*h)
	count := make([]float64, classes)
	for i, label := range e.Labels {
		count[label]++
		for j, v := range e.Row(i) {
			mean[label*h+j] += float64(v)
		}
	}
	per := p.Value.Size() / len(mean)
	r := rand.New(rand.NewPCG(s.cfg.Seed, 0x70726f7879))
	rows := make([]float32, 0, p.Value.Size())
	for c := range classes {
		m := mean[c*h : (c+1)*h]
		length := 0.
		for j := range m {
			m[j] /= max(count[c], 1)
			length += m[j] * m[j]
		}
		std := 0.
		if per > 1 {
			std = proxySpread * math.Sqrt(length/float64(h))
		}
		for range per {
			for _, v := range m {
				rows = append(rows, float32(v+std*r.NormFloat64()))
			}
		}
	}
	if err := s.model.Denormalize(rows); err != nil {
		return err
	}
	return s.model.Params.Engine().Write(p.Value, rows)
}
