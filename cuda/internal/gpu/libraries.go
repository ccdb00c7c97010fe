//go:build gpu && linux && cgo

package gpu

import "github.com/vernier-ml/vernier/cuda/internal/device"

// Blas returns cuBLAS for a stream.
func (d *Driver) Blas(s device.Stream) (device.Blas, error) {
	return blas{d}, d.within("cuBLAS", func() error { return d.set.Blas.Attach(s) })
}

// Dnn returns cuDNN for a stream.
func (d *Driver) Dnn(s device.Stream) (device.Dnn, error) {
	return dnn{d}, d.within("cuDNN", func() error { return d.set.Dnn.Attach(s) })
}

// blas calls cuBLAS in the context.
type blas struct{ d *Driver }

func (b blas) Gemm(g device.Gemm) error {
	return b.d.within("product", func() error { return b.d.set.Blas.Gemm(g) })
}

func (b blas) SetWorkspace(p device.Ptr, bytes int64) error {
	return b.d.within("workspace", func() error { return b.d.set.Blas.SetWorkspace(p, bytes) })
}

func (b blas) Close() error { return b.d.within("cuBLAS", b.d.set.Blas.Detach) }

// dnn calls cuDNN in the context.
type dnn struct{ d *Driver }

func (n dnn) Plan(dir device.Direction, c device.Conv, t device.Operands, work device.Ptr, limit int64) (p device.Plan, err error) {
	err = n.d.within("convolution", func() (err error) {
		p, err = n.d.set.Dnn.Plan(dir, c, t, work, limit)
		return err
	})
	return p, err
}

func (n dnn) Run(dir device.Direction, p device.Plan, t device.Operands, work device.Ptr) error {
	return n.d.within("convolution", func() error { return n.d.set.Dnn.Run(dir, p, t, work) })
}

func (n dnn) Close() error { return n.d.within("cuDNN", n.d.set.Dnn.Detach) }

// Ranks returns NCCL.
func (d *Driver) Ranks() (device.Ranks, error) { return ranks{d}, d.set.LoadNccl() }

// ranks calls NCCL in the context.
type ranks struct{ d *Driver }

func (r ranks) Invitation() (id []byte, err error) {
	err = r.d.within("NCCL", func() (err error) {
		id, err = r.d.set.Nccl.Invitation()
		return err
	})
	return id, err
}

func (r ranks) Join(invitation []byte, rank, size int) error {
	return r.d.within("NCCL", func() error { return r.d.set.Nccl.Join(invitation, rank, size) })
}

func (r ranks) Sum(list []device.Span, s device.Stream) error {
	return r.d.within("NCCL", func() error { return r.d.set.Nccl.Sum(list, s) })
}

func (r ranks) Gather(dst device.Ptr, x device.Span, s device.Stream) error {
	return r.d.within("NCCL", func() error { return r.d.set.Nccl.Gather(dst, x, s) })
}

func (r ranks) Since() error { return r.d.set.Nccl.Since() }

func (r ranks) Abort() error { return r.d.within("NCCL", r.d.set.Nccl.Abort) }
