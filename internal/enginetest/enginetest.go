// Package enginetest tests any engine.Engine: against internal/enginetest/reference on
// random shapes and on the edges of every operation's definition, against
// finite differences of its own forward pass, against hand-worked steps of the
// optimizers, and against golden numbers. An engine's package calls Run from a
// test of its own; everything that the suite needs is embedded, so that a test
// binary works on a machine without the source tree.
package enginetest

import (
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
)

// Options says how strict the suite is. The zero value is for float32
// arithmetic, without golden files.
type Options struct {
	// Seed draws the shapes and numbers; 0 means 1.
	Seed uint64
	// Sum is the error allowed in sums, products and functions, relative to the
	// largest magnitude of the tensor (or to the size of the summands, where
	// these cancel). 0 means 2e-5.
	Sum float64
	// Elementwise is the error allowed where an element is a few operations on
	// its own inputs, relative likewise. 0 means 1e-6.
	Elementwise float64
	// Every, if more than 1, runs only every so manieth comparison with the
	// reference, for engines that are slow to test.
	Every int
	// Only, if not empty, names the parts to run.
	Only []string
	// Narrow says that the engine stores tensors of three axes and more as
	// bfloat16: the suite's numbers for them are such.
	Narrow bool
	// Golden also runs the golden numbers of single operations and metrics.
	Golden bool
}

// Run runs the whole suite, one subtest an operation.
func Run(t *testing.T, eng engine.Engine, opt Options) {
	t.Helper()
	if opt.Seed == 0 {
		opt.Seed = 1
	}
	if opt.Sum == 0 {
		opt.Sum = 2e-5
	}
	if opt.Elementwise == 0 {
		opt.Elementwise = 1e-6
	}
	t.Logf("engine %s, %+v", eng.Name(), opt)
	s := &suite{eng: eng, ref: reference.New(), opt: opt}
	for _, part := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"memory", s.memory},
		{"arenas", s.arenas},
		{"elementwise", s.elementwise},
		{"matmul", s.matmul},
		{"linear", s.linear},
		{"concat and slice", s.channels},
		{"slice of a relu gradient", s.sliceReLUGrad},
		{"rows scaled and summed", s.rowScale},
		{"conv", s.conv},
		{"conv epilogue", s.convEpilogue},
		{"conv gradients", s.convGradients},
		{"batch norm", s.batchNorm},
		{"frozen norm", s.frozenNorm},
		{"fold norm", s.foldNorm},
		{"conv with a folded norm", s.foldedConv},
		{"row norm", s.rowNorm},
		{"layer norm", s.layerNorm},
		{"gelu", s.gelu},
		{"softmax", s.softmax},
		{"attention", s.attention},
		{"attention at extreme scales", s.attentionScales},
		{"tokens", s.tokens},
		{"pool", s.pool},
		{"max pool ties", s.maxPoolTies},
		{"global pool", s.globalPool},
		{"pairwise", s.pairwise},
		{"pairwise of one tensor with itself", s.pairwiseSelf},
		{"pairwise within groups of rows", s.pairwiseGroups},
		{"pairwise at extreme scales", s.pairwiseScales},
		{"pairwise of equal rows", s.pairwiseEqual},
		{"mix", s.mix},
		{"channel grams", s.channelGrams},
		{"update", s.update},
		{"hand-worked SGD", s.handWorkedSGD},
		{"hand-worked AdamW", s.handWorkedAdamW},
		{"hand-worked Adam", s.handWorkedAdam},
		{"hand-worked RMSprop", s.handWorkedRMSprop},
		{"NaN and infinity", s.nonFinite},
		{"finite differences", s.differences},
		{"wrong shapes", s.wrongShapes},
		{"wrong settings", s.wrongSettings},
	} {
		if len(opt.Only) == 0 || slices.Contains(opt.Only, part.name) {
			t.Run(part.name, part.test)
		}
	}
	if opt.Golden {
		t.Run("golden layers", s.goldenLayers)
		t.Run("golden metrics", s.goldenMetrics)
	}
}

// suite is one run.
type suite struct {
	eng, ref engine.Engine
	opt      Options
	calls    int
}

// rng returns the random numbers of one subtest, which depend neither on what
// ran before it nor on who called Run.
func (s *suite) rng(t *testing.T) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(path.Base(t.Name())))
	return rand.New(rand.NewPCG(s.opt.Seed, h.Sum64()))
}
