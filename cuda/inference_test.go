//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/model"
)

// embedder returns an embedder that the test closes.
func (n *training) embedder(t *testing.T, batch int) *model.Embedder {
	t.Helper()
	e, err := n.m.NewEmbedder(batch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// embedded are the embeddings of images.
func embedded(t *testing.T, e *model.Embedder, images []float32) []float32 {
	t.Helper()
	rows, err := e.Embed(nil, images)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// turns trains a network and embeds by it in turns, on a deterministic engine: training
// is as if nobody had embedded, and an embedder that recorded its work before a step
// embeds as one that is made after it. ref, if not nil, embeds in the end by the
// parameters that were learned, each number of a unit row within tolerance.
func turns(t *testing.T, e *Engine, w whole, ref engine.Engine, tolerance float64) {
	t.Helper()
	want, wantBits := w.on(t, e).trained(t, enough+2)
	n := w.on(t, e)
	images := make([]float32, 5*n.images.Shape().TotalSize()/w.batch)
	for i, rng := 0, rand.New(rand.NewPCG(3, 4)); i < len(images); i++ {
		images[i] = float32(rng.NormFloat64())
	}
	early := n.embedder(t, 2)
	var got []float64
	var rows []float32
	for i := range enough + 2 {
		got = append(got, n.step(t))
		before := rows
		rows = embedded(t, early, images)
		if slices.Equal(rows, before) {
			t.Errorf("step %d moves no embedding", i+1)
		}
		if fresh := embedded(t, n.embedder(t, 2), images); !slices.Equal(rows, fresh) {
			t.Errorf("after step %d: embeddings begin with %v, by an embedder of then %v", i+1, rows[:4], fresh[:4])
		}
	}
	if bits := n.bits(t); !slices.Equal(got, want) || bits != wantBits {
		t.Errorf("losses %v (%s), without inference %v (%s)", got, bits, want, wantBits)
	}
	if ref == nil {
		return
	}
	m := w.on(t, ref)
	for i, p := range n.m.Params.All() {
		v := make([]float32, p.Value.Size())
		if err := e.Read(v, p.Value); err != nil {
			t.Fatal(err)
		}
		if err := ref.Write(m.m.Params.All()[i].Value, v); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range embedded(t, m.embedder(t, 2), images) {
		if math.Abs(float64(v-rows[i])) > tolerance {
			t.Fatalf("number %d of the embeddings is %v, on the reference engine %v", i, rows[i], v)
		}
	}
}

func TestTrainingAndInferenceTakeTurns(t *testing.T) {
	e, _, _ := newFake(t, Options{Deterministic: true})
	turns(t, e, tiny, reference.New(), 1e-4)
}

func TestTrainingAndInferenceTakeTurnsInBfloat16(t *testing.T) {
	e, _, _ := newFake(t, Options{Precision: BF16, Deterministic: true})
	turns(t, e, tiny, nil, 0)
}
