package tpe

import (
	"cmp"
	"math"
	"slices"
)

// Importance says how much each parameter decides whether a trial is among the better
// ones, in shares of 1: the Pearson divergence between the densities of the best quarter
// and of all whole trials (Watanabe, Bansal and Hutter 2023, PED-ANOVA). It is nil where
// fewer than eight trials say anything.
func Importance(s Space, trials []Trial) map[string]float64 {
	order := slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return t.Rank < 1 || math.IsNaN(t.Value) })
	if len(order) < 8 {
		return nil
	}
	slices.SortStableFunc(order, func(a, b Trial) int { return cmp.Compare(b.Value, a.Value) })
	top := order[:max(len(order)/4, 2)]
	share, sum := map[string]float64{}, 0.
	for _, p := range s {
		best, all := having(top, p.Name), having(order, p.Name)
		if len(all) == 0 {
			continue
		}
		share[p.Name] = divergence(p, best, all)
		sum += share[p.Name]
	}
	for name := range share {
		if sum > 0 {
			share[name] /= sum
		}
	}
	return share
}

// divergence is the mean over the range, by the density of all, of (best/all - 1)^2.
func divergence(p Param, best, all []Trial) float64 {
	b, a := newMixture(Space{p}, best), newMixture(Space{p}, all)
	var places []float64
	if p.Kind == Choice {
		for k := range p.N {
			places = append(places, float64(k))
		}
	} else {
		const points = 64
		for k := range points {
			places = append(places, p.outward((float64(k)+.5)/points))
		}
	}
	sum, mass := 0., 0.
	for _, v := range places {
		at := map[string]float64{p.Name: v}
		d := math.Exp(a.logDensity(at))
		ratio := math.Exp(b.logDensity(at)) / d
		sum, mass = sum+d*(ratio-1)*(ratio-1), mass+d
	}
	return sum / mass
}
