package train

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// proxySpread is how far the several proxies of one class start from its mean,
// as a share of the mean's length.
const proxySpread = .1

// startProxies places each proxy, of the loss and of its terms, by the mean of
// its class as the untrained network sees it: proxies drawn at random would first
// have to find their classes. Where a class has several they start around that.
//
// An untrained network sees all images in nearly one direction, and so proxies
// of rows of one length start at their class's mean less the mean of all classes:
// else they would all start at one place. A center, which is to be its class's
// mean, is not moved.
func (s *Session) startProxies(ctx context.Context) error {
	if s.cfg.Loss.Start == "random" || s.cfg.Model.Projection != "" {
		return nil // behind a projection, which is drawn, means of embeddings say nothing
	}
	goal, err := s.objective()
	if err != nil {
		return err
	}
	owners := map[string]losses.Loss{losses.ClassRowsParam: goal.loss}
	for _, t := range goal.terms {
		owners[losses.TermRowsParam(t.Name)] = t.Loss
	}
	var proxies []*layers.Param
	for _, p := range s.model.Params.All() {
		if p.Role == layers.Proxy && owners[p.Name] != nil {
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
	h := s.model.Spec.Dim
	apart := mean
	if s.model.Spec.Normalization == model.NormRows {
		apart = lessTheirMean(mean, h)
	}
	r := rand.New(rand.NewPCG(s.cfg.Seed, 0x70726f7879))
	for _, p := range proxies {
		start := apart
		if losses.IsCenter(owners[p.Name]) {
			start = mean
		}
		rows := around(start, h, p.Value.Size()/len(mean), r)
		if err := s.model.Denormalize(rows); err != nil {
			return err
		}
		if err := s.model.Params.Engine().Write(p.Value, rows); err != nil {
			return err
		}
	}
	return nil
}

// learns reports whether the loss has parameters that are trained.
func learns(m *model.Model) bool {
	return slices.ContainsFunc(m.Params.All(), func(p *layers.Param) bool { return p.Trainable() && p.Group == layers.Loss })
}

// lessTheirMean subtracts the mean row, and brings what is left of each row to
// the length that the row had.
func lessTheirMean(rows []float64, h int) []float64 {
	all := make([]float64, h)
	for i, v := range rows {
		all[i%h] += v * float64(h) / float64(len(rows))
	}
	out := make([]float64, len(rows))
	for c := 0; c < len(rows); c += h {
		had, left := 0., 0.
		for k, v := range rows[c : c+h] {
			out[c+k] = v - all[k]
			had += v * v
			left += out[c+k] * out[c+k]
		}
		if left == 0 { // a single class, or identical ones
			copy(out[c:c+h], rows[c:c+h])
			continue
		}
		for k := range h {
			out[c+k] *= math.Sqrt(had / left)
		}
	}
	return out
}

// meanImages is the most images of a class whose mean its proxies start from. More
// cost time, and hardly turn the mean.
const meanImages = 20

// meanSet is up to meanImages of each training class, drawn by the seed.
func (s *Session) meanSet() *data.Set {
	r := rand.New(rand.NewPCG(s.cfg.Seed, 0x6d65616e73))
	var chosen []int
	for _, items := range s.sets.Train.ByClass() {
		if len(items) > meanImages {
			r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			items = items[:meanImages]
		}
		chosen = append(chosen, items...)
	}
	slices.Sort(chosen)
	return s.sets.Train.Select(s.sets.Train.Name, chosen)
}

// classMeans are the mean embeddings of the training classes, (C, h).
func (s *Session) classMeans(ctx context.Context) ([]float64, error) {
	set := s.meanSet()
	loader, err := s.feeder.loader(set, s.pipeline)
	if err != nil {
		return nil, err
	}
	e, err := run.EmbedSet(ctx, s.model, loader, len(set.Items), "placing proxies", s.opt.run())
	if err != nil {
		return nil, err
	}
	if err := e.CheckFinite(set); err != nil {
		return nil, err
	}
	if err := s.model.StartCoordinates(e.X); err != nil {
		return nil, err
	}
	h, classes := s.model.Spec.Dim, len(s.sets.Train.Classes)
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

// around returns per rows at each mean, spread if they are more than one.
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
			std = proxySpread * math.Sqrt(length/float64(h))
		}
		for range per {
			for _, v := range m {
				rows = append(rows, float32(v+std*r.NormFloat64()))
			}
		}
	}
	return rows
}
