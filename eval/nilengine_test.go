package eval

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/metric"
)

// TestWithoutAnEngineTheCPUComputes compares every entry of the package.
func TestWithoutAnEngineTheCPUComputes(t *testing.T) {
	host, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	rng := rand.New(rand.NewPCG(11, 12))
	const n, h = 40, 6
	e := &Embeddings{N: n, H: h, X: make([]float32, n*h), Labels: make([]int, n)}
	for i := range e.X {
		e.X[i] = rng.Float32() + float32(i/h%4)
	}
	for i := range e.Labels {
		e.Labels[i] = i % 4
	}
	m := metric.Metric{P: 2} // BRM
	for name, run := range map[string]func(Engine) (any, error){
		"Evaluate":  func(eng Engine) (any, error) { return Evaluate(t.Context(), eng, e, m, Options{}) },
		"Neighbors": func(eng Engine) (any, error) { return Neighbors(t.Context(), eng, e, e, m, 5, SearchOptions{}) },
		"Retrieve":  func(eng Engine) (any, error) { return Retrieve(t.Context(), eng, e, e, m, RetrievalOptions{}) },
		"KMeans":    func(eng Engine) (any, error) { return KMeans(t.Context(), eng, e, m, KMeansOptions{K: 4}) },
		"Cluster":   func(eng Engine) (any, error) { return Cluster(t.Context(), eng, e, m, KMeansOptions{Restarts: 2}) },
	} {
		t.Run(name, func(t *testing.T) {
			got, err := run(nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := run(host)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("without an engine %+v, with one %+v", got, want)
			}
		})
	}
}
