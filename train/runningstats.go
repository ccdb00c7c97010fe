package train

import (
	"fmt"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// runningStatistics are those of normalizations that use the statistics of a part of a batch.
// The first pass must not move them. In the second they begin at 0 for each part, so that they
// end with the part's own times the momentum. Then they move by all parts, in the order of
// these, whatever ranks the parts are on.
type runningStatistics struct {
	values, kept []engine.Tensor
	rest         []float32 // one less the momentum of each
	numbers      int       // of all values
	parts        []float32 // what own parts end with, one behind the other
	host         []float32 // values
}

func newRunningStatistics(g *layers.Graph) (r runningStatistics, err error) {
	for _, s := range g.RunningStatistics() {
		for _, node := range []*layers.Node{s.Mean, s.Var} {
			v := g.Value(node)
			t, err := g.Engine().New(v.Shape()...)
			if err != nil {
				return r, fmt.Errorf("copy of running statistics: %w", err)
			}
			r.values, r.kept, r.rest = append(r.values, v), append(r.kept, t), append(r.rest, 1-s.Momentum)
			r.numbers += v.Size()
		}
	}
	r.host = make([]float32, r.numbers)
	return r, nil
}

// keep notes the values before a pass.
func (r *runningStatistics) keep(eng engine.Engine) error {
	r.parts = r.parts[:0]
	return r.copy(eng, r.kept, r.values)
}

// restore makes the values what they were at keep.
func (r *runningStatistics) restore(eng engine.Engine) error { return r.copy(eng, r.values, r.kept) }

func (r *runningStatistics) copy(eng engine.Engine, to, from []engine.Tensor) error {
	for i, t := range to {
		if err := eng.Copy(t, from[i]); err != nil {
			return err
		}
	}
	return nil
}

// before is called before a part goes forth and back.
func (r *runningStatistics) before(eng engine.Engine) error {
	for _, v := range r.values {
		if err := eng.Zero(v); err != nil {
			return err
		}
	}
	return nil
}

// after is called behind it.
func (r *runningStatistics) after(eng engine.Engine) error {
	if err := read(eng, r.host, r.values); err != nil {
		return err
	}
	r.parts = append(r.parts, r.host...)
	return nil
}

// read brings tensors to the host, one behind the other.
func read(eng engine.Engine, host []float32, from []engine.Tensor) error {
	for _, t := range from {
		if err := eng.Read(host[:t.Size()], t); err != nil {
			return err
		}
		host = host[t.Size():]
	}
	return nil
}

// move moves the values that were kept by the parts of all ranks.
func (r *runningStatistics) move(eng engine.Engine, ranks comm.Comm) error {
	if len(r.values) == 0 {
		return nil
	}
	all := make([]float32, len(r.parts)*ranks.Size())
	if err := ranks.GatherRows(all, r.parts); err != nil {
		return err
	}
	if err := read(eng, r.host, r.kept); err != nil {
		return err
	}
	for ; len(all) > 0; all = all[r.numbers:] {
		at := 0
		for i, v := range r.values {
			for k := at; k < at+v.Size(); k++ {
				r.host[k] = float32(float64(float64(r.rest[i])*float64(r.host[k])) + float64(all[k])) // fused on no processor
			}
			at += v.Size()
		}
	}
	at := 0
	for _, v := range r.values {
		if err := eng.Write(v, r.host[at:at+v.Size()]); err != nil {
			return err
		}
		at += v.Size()
	}
	return nil
}
