//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest"
)

func TestClassLossesOnAFakeDevice(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	enginetest.ClassLosses(t, eng, enginetest.ClassLossOptions{Rel: 1e-4, Golden: os.DirFS(filepath.Join("..", "losses", "testdata", "golden")), Quick: every() > 1})
}

func TestClassLossesRefuseWhatDoesNotFit(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	tensor := func(shape ...int) engine.Tensor {
		x, err := eng.New(shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	d, one, two := tensor(2, 3), tensor(1), tensor(2)
	soft := func(spec engine.ClassSoftmaxSpec, loss, dd, d, labels engine.Tensor) error {
		return eng.ClassSoftmax(loss, dd, d, labels, spec)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{eng.ProxyAnchor(two, nil, d, two, engine.ProxyAnchorSpec{}), "loss [2], want shape [1]"},
		{eng.ProxyAnchor(one, tensor(3, 2), d, two, engine.ProxyAnchorSpec{}), "dd [3 2], want shape [2 3]"},
		{eng.ProxyAnchor(one, nil, d, one, engine.ProxyAnchorSpec{}), "labels [1], want shape [2]"},
		{eng.ProxyAnchor(one, d, d, two, engine.ProxyAnchorSpec{}), "share memory"},
		{eng.ProxyAnchor(one, nil, two, two, engine.ProxyAnchorSpec{}), "d [2], want shape [-1 -1]"},
		{soft(engine.ClassSoftmaxSpec{Angle: 4}, one, nil, d, two), "an angle of 4"},
		{soft(engine.ClassSoftmaxSpec{OthersOnly: true, Smoothing: .1}, one, nil, d, two), "no smoothing"},
		{soft(engine.ClassSoftmaxSpec{OthersOnly: true}, one, nil, tensor(2, 1), two), "2 classes or more"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
}
