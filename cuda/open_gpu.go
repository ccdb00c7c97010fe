//go:build gpu && linux && cgo

package cuda

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/internal/gpu"
	"github.com/vernier-ml/vernier/cuda/internal/native"
)

// Open returns an engine on a GPU. The error says all that is missing.
func Open(opt Options) (*Engine, error) {
	set := native.Load()
	p, err := open(set, opt)
	if err != nil {
		return nil, err
	}
	return newEngine(p, opt)
}

// OpenFirst returns an engine on the first GPU that can do what the options want,
// whatever their Device, and why the GPUs before it cannot.
func OpenFirst(opt Options) (e *Engine, passed []error, err error) {
	r, err := Examine()
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return nil, nil, err
	}
	return first(r.Devices, opt, Open)
}

func open(set *native.Set, opt Options) (p parts, err error) {
	fail := func(err error) (parts, error) { return parts{}, errors.Join(err, set.Close()) }
	if err := set.Report.Err(); err != nil {
		return fail(err)
	}
	if n := len(set.Report.Devices); opt.Device < 0 || opt.Device >= n {
		return fail(fmt.Errorf("there is no GPU %d: this machine has %d, numbered from 0", opt.Device, n))
	}
	dev := set.Report.Devices[opt.Device]
	if err := capable(dev, opt); err != nil {
		return fail(err)
	}
	d, err := gpu.Open(set, opt.Device)
	if err != nil {
		return fail(err)
	}
	if p.compute, err = d.NewStream(); err == nil {
		if p.blas, err = d.Blas(p.compute); err == nil {
			p.dnn, err = d.Dnn(p.compute)
		}
	}
	if err != nil {
		return parts{}, errors.Join(err, d.Close())
	}
	p.driver = device.Driver(d)
	return p, nil
}
