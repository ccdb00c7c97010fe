package losses

import (
	"runtime"
	"slices"
	"testing"
)

// Values and gradients are the same bits on any number of processors.
func TestResultsDoNotDependOnProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, name := range ofMatrices() {
		o := Options{Metric: brm, Classes: 800, Dim: 64}
		if name == "soft-triple" {
			o.Params = map[string]string{"centers": "2"}
		}
		m := batchMatrix(300, 3)
		if columns := mustNew(t, name, o).Columns(); columns == Classes {
			m = proxyMatrix(150, 800, PerClass(mustNew(t, name, o)))
		}
		var first []float64
		var result Result
		for _, processors := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(processors)
			grad := make([]float64, len(m.V))
			r, err := mustNew(t, name, o).Eval(m, grad)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first, result = grad, r
			} else if r != result || !slices.Equal(grad, first) {
				t.Errorf("%s: %+v on one processor, %+v on %d", name, result, r, processors)
			}
		}
	}
}
