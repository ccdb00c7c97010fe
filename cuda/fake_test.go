//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/fake"
)

// newFake returns an engine on a device of host memory.
func newFake(t testing.TB, opt Options) (*Engine, *fake.Driver, *fake.Dnn) {
	t.Helper()
	d := fake.New(2 << 30)
	e, dnn := onFake(t, d, opt)
	return e, d, dnn
}

func onFake(t testing.TB, d *fake.Driver, opt Options) (*Engine, *fake.Dnn) {
	t.Helper()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	dnn := &fake.Dnn{Driver: d, Stream: s}
	if opt.Workspace == 0 {
		opt.Workspace = 1 << 20
	}
	e, err := newEngine(parts{driver: d, compute: s, blas: &fake.Blas{Driver: d, Stream: s}, dnn: dnn}, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, dnn
}
