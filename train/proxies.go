package train

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
)

// proxySpread is how far the several proxies of one class start from its mean,
// as a share of the mean's length.
const proxySpread = .1

// startProxies places each proxy, of the loss and of its terms, at the mean of
// its class as the untrained network sees it: proxies drawn at random would first
// have to find their classes. Where a class has several they start around the
// mean.
func (s *Session) startProxies(ctx context.Context) error {
	var proxies []*layers.Param
	for _, p := range s.model.Params.All() {
		if p.Role == layers.Proxy && strings.HasPrefix(p.Name, losses.ParamPrefix) {
			proxies = append(proxies, p)
		}
	}
	if len(proxies) == 0 {
		return nil
	}
	mean, err := s.classMeans(ctx)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(s.cfg.Seed, 0x70726f7879))
	for _, p := range proxies {
		rows := around(mean, s.model.Spec.Dim, p.Value.Size()/len(mean), r)
		if err := s.model.Denormalize(rows); err != nil {
			return err
		}
		if err := s.model.Params.Engine().Write(p.Value, rows); err != nil {
			return err
		}
	}
	return nil
}

// classMeans are the mean embeddings of the training classes, (C, h).
func (s *Session) classMeans(ctx context.Context) ([]float64, error) {
	loader, err := s.loader(s.sets.fit, s.pipeline)
	if err != nil {
		return nil, err
	}
	e, err := EmbedSet(ctx, s.model, loader, len(s.sets.fit.Items), "placing proxies", s.ev)
	if err != nil {
		return nil, err
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
	for k := range mean {
		mean[k] /= max(count[k/h], 1)
	}
	return mean, nil
}

// around returns so many rows at each mean, spread if they are more than one.
func around(mean []float64, h, per int, r *rand.Rand) []float32 {
	rows := make([]float32, 0, len(mean)*per)
	for c := 0; c < len(mean); c += h {
		m := mean[c : c+h]
		std := 0.
		if per > 1 {
			length := 0.
			for _, v := range m {
				length += v * v
			}
			std = proxySpread * length / math.Sqrt(float64(h))
		}
		for range per {
			for _, v := range m {
				rows = append(rows, float32(v+std*r.NormFloat64()))
			}
		}
	}
	return rows
}
