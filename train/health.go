package train

import (
	"math"

	"github.com/vernier-ml/vernier/metric"
)

// health counts signs of trouble within an epoch. It is part of a checkpoint, so
// that a run that continues counts as one that never stopped.
type health struct {
	// Idle is the number of steps in which no term of the loss was active.
	Idle int `json:"idle"`
	// Level is a running mean of the logarithm of the gradient's norm over Steps
	// steps of the run, from which a step's own may be far off.
	Level float64 `json:"level"`
	Steps int     `json:"steps"`
	// Loud and Faint count the steps of the epoch whose gradient is far above the
	// level, and those whose gradient is next to nothing; LoudAt is the first
	// of the former and LoudNorm its norm.
	Loud     int     `json:"loud"`
	LoudAt   int     `json:"loud_at"`
	LoudNorm float64 `json:"loud_norm"`
	Faint    int     `json:"faint"`
	// Collapse is what looks at batches have found.
	Collapse collapse `json:"collapse,omitzero"`
}

const (
	loudFactor = 100  // times the usual norm is an explosion
	faintNorm  = 1e-7 // of the whole gradient, is next to nothing
	levelDecay = 0.05 // share of a step in the level
	levelSteps = 20   // after which the level means something
)

// step takes in the gradient's norm of a step.
func (h *health) step(number int, norm float64, idle bool) {
	if idle {
		h.Idle++
		return
	}
	if norm < faintNorm {
		h.Faint++
		return
	}
	l := math.Log(norm)
	if h.Steps >= levelSteps && l > h.Level+math.Log(loudFactor) {
		if h.Loud++; h.Loud == 1 {
			h.LoudAt, h.LoudNorm = number, norm
		}
	}
	h.Steps++
	h.Level += (l - h.Level) * max(levelDecay, 1/float64(h.Steps))
}

// nextEpoch forgets the counts, but not the level and the looks for a collapse.
func (h *health) nextEpoch() { *h = health{Level: h.Level, Steps: h.Steps, Collapse: h.Collapse} }

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// saturation is the share of a restriction's bound beyond which it is hardly
// sensitive to a coordinate.
const saturation = 0.95

// spread measures the metric's values between different images of the latest
// batch: their mean and standard deviation, and the share of coordinates at
// which the restriction is saturated.
func (s *Session) spread() error {
	x, err := s.stepper.latest()
	if err != nil {
		return err
	}
	h := s.model.Spec.Dim
	far := saturatedFrom(s.model.Spec.Metric)
	between, err := s.model.Distances()
	if err != nil {
		return err
	}
	var sum, squares, n, dead float64
	for i := 0; i < len(x); i += h {
		values := make([]float64, i/h)
		between(values, x[i:i+h], x[:i])
		for j := 0; j < i; j += h {
			v := values[j/h]
			sum, squares, n = sum+v, squares+v*v, n+1
			if math.IsInf(far, 1) {
				continue
			}
			for k, a := range x[i : i+h] {
				if math.Abs(float64(a-x[j+k])) > far {
					dead++
				}
			}
		}
	}
	st := &s.state
	st.Mean = sum / n
	st.Std = math.Sqrt(max(squares/n-st.Mean*st.Mean, 0))
	st.Saturated = dead / (n * float64(h))
	return nil
}

// saturatedFrom is the difference of two coordinates from which on the
// restriction of a metric is saturated; infinite for metrics without one.
func saturatedFrom(m metric.Metric) float64 {
	if m.Kind != metric.BRM {
		return math.Inf(1)
	}
	low, high := 0., 1.
	bound := saturation * m.Restriction.Bound(m.Omega)
	for m.Restriction.Value(high, m.Omega) < bound {
		high *= 2
	}
	for range 60 {
		if mid := (low + high) / 2; m.Restriction.Value(mid, m.Omega) < bound {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
