package tsne

import (
	"context"
	"math"
	"runtime"
	"sync"
)

// descent moves points y (N, 2) so that their affinities q approach p.
type descent struct {
	p   *sparse
	y   []float64
	opt Options

	gradient, step, gain []float64
	z                    []float64 // of every point, summed in order
}

// scaleStart gives the first axis the deviation 1e-4. Points that start at one
// place, as identical rows do, stay together.
func (d *descent) scaleStart() {
	sum := 0.0
	for i := 0; i < len(d.y); i += 2 {
		sum += d.y[i] * d.y[i]
	}
	if sum == 0 {
		return
	}
	scale := 1e-4 / math.Sqrt(sum/float64(len(d.y)/2))
	for i := range d.y {
		d.y[i] *= scale
	}
}

func (d *descent) run(ctx context.Context) error {
	n := len(d.y) / 2
	d.gradient, d.step, d.gain = make([]float64, 2*n), make([]float64, 2*n), make([]float64, 2*n)
	d.z = make([]float64, n)
	for i := range d.gain {
		d.gain[i] = 1
	}
	// Belkina et al. 2019.
	rate := math.Max(float64(n)/exaggeration, 50)
	for it := range d.opt.Iterations {
		if err := ctx.Err(); err != nil {
			return err
		}
		larger, momentum := 1.0, lateMomentum
		if it < exaggerated {
			larger, momentum = exaggeration, earlyMomentum
		}
		d.slope(larger)
		for i, g := range d.gradient {
			if (g > 0) != (d.step[i] > 0) {
				d.gain[i] += 0.2
			} else {
				d.gain[i] = math.Max(0.8*d.gain[i], smallestGain)
			}
			d.step[i] = momentum*d.step[i] - rate*d.gain[i]*g
			d.y[i] += d.step[i]
		}
		if d.opt.Progress != nil {
			d.opt.Progress(it+1, d.opt.Iterations)
		}
	}
	return nil
}

// slope computes the gradient of the divergence of q from p (van der Maaten
// 2014, Eq. 5), with p multiplied by larger. It does not depend on the number
// of workers: every point is summed by one of them, in a fixed order.
func (d *descent) slope(larger float64) {
	n := len(d.y) / 2
	tree := newQuadtree(d.y)
	workers := d.opt.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	stacks := make([][]int32, workers)
	theta := max(d.opt.Theta, 0)
	repulsion := make([]float64, 2*n)
	parallel(workers, n, func(w, i int) {
		x, y := d.y[2*i], d.y[2*i+1]
		repulsion[2*i], repulsion[2*i+1], d.z[i], stacks[w] = tree.repulsion(x, y, theta, stacks[w])
		fx, fy := 0.0, 0.0
		for k := d.p.from[i]; k < d.p.from[i+1]; k++ {
			j := 2 * int(d.p.index[k])
			dx, dy := x-d.y[j], y-d.y[j+1]
			w := larger * d.p.value[k] / (1 + dx*dx + dy*dy)
			fx += w * dx
			fy += w * dy
		}
		d.gradient[2*i], d.gradient[2*i+1] = fx, fy
	})
	z := 0.0
	for _, v := range d.z {
		z += v
	}
	for i := range d.gradient {
		d.gradient[i] = 4 * (d.gradient[i] - repulsion[i]/z)
	}
}

// parallel calls do for 0..n-1 on at most workers goroutines, each of which takes one
// contiguous part.
func parallel(workers, n int, do func(worker, i int)) {
	workers = min(workers, n)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w * n / workers; i < (w+1)*n/workers; i++ {
				do(w, i)
			}
		})
	}
	wait.Wait()
}
