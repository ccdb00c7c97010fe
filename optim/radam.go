package optim

import (
	"errors"
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// radam moves slots by rectified Adam (Liu et al. 2020, On the variance of the adaptive
// learning rate and beyond), with decay as AdamW has it. With the moments m and v of Adam,
//
//	rho = rhoMax - 2 t Beta2^t/(1 - Beta2^t), rhoMax = 2/(1 - Beta2) - 1
//	r = sqrt((rho-4)(rho-2) rhoMax / ((rhoMax-4)(rhoMax-2) rho))
//	w -= Rate r m/(1-Beta1^t) sqrt(1-Beta2^t)/(sqrt(v) + Eps)    where rho is 5 or more
//	w -= Rate m/(1-Beta1^t)                                      in the first steps
//
// The first is AdamW with other constants. The second is AdamW at rate 0, which moves the
// moments alone, and SGD along m.
func (o *Optimizer) radam(m *Move, by engine.Mover, group []engine.Slot, step int) error {
	spec := o.adam(step)
	r, rectified := rectification(spec.Beta2, step)
	if rectified {
		spec.Eps /= math.Sqrt(1 - math.Pow(spec.Beta2, float64(step)))
		for i := range group {
			group[i].Rate = float32(float64(group[i].Rate) * r)
			group[i].Decay = float32(float64(group[i].Decay) / r)
		}
		return by.AdamW(group, spec)
	}
	along := make([]engine.Slot, len(group))
	rest := 1 - math.Pow(spec.Beta1, float64(step))
	for i, s := range group {
		along[i] = engine.Slot{Param: s.Param, Grad: s.State[0], Rate: float32(float64(s.Rate) / rest), Decay: float32(float64(s.Decay) * rest)}
		group[i].Rate, group[i].Decay = 0, 0
	}
	spec.Eps = 1 // of a quotient that counts for nothing
	if err := by.AdamW(group, spec); err != nil {
		return err
	}
	// The moments are of the clipped gradient, which must not be clipped again; and a device
	// has left them as they were if the gradient is not finite.
	if _, err := m.Norm(); err != nil {
		if errors.Is(err, ErrNonFinite) {
			return nil
		}
		return err
	}
	return o.eng.SGD(along, engine.SGDSpec{})
}

// rectification is r of radam; rectified is false in the first steps.
func rectification(beta2 float64, step int) (r float64, rectified bool) {
	most, power := 2/(1-beta2)-1, math.Pow(beta2, float64(step))
	rho := most - 2*float64(step)*power/(1-power)
	if rho < 5 {
		return 0, false
	}
	return math.Sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)), true
}
