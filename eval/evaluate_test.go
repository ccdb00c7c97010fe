package eval

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/metric"
)

func TestFiguresGoThroughJSON(t *testing.T) {
	e := blobs(seeded(41), 8, 6, 5, 0.4)
	e.Labels[47] = 99
	stages := map[string]int{}
	f, err := Evaluate(context.Background(), reference.New(), e, metric.Metric{P: 2}, Options{
		Restarts: 3, Split: "test classes", Progress: func(stage string, done, total int) {
			if done == total {
				stages[stage]++
			}
		},
	})
	fatal(t, err)
	for _, stage := range []string{"retrieval", "clustering", "geometry"} {
		if stages[stage] != 1 {
			t.Errorf("stage %s was done %d times", stage, stages[stage])
		}
	}
	text, err := json.Marshal(f)
	fatal(t, err)
	var keys map[string]any
	fatal(t, json.Unmarshal(text, &keys))
	for key, want := range map[string]any{"distance": "brm", "split": "test classes", "queries": 48.0, "classes": 9.0, "lone_queries": 1.0, "ties": "pessimistic"} {
		if keys[key] != want {
			t.Errorf("%s is %v, want %v", key, keys[key], want)
		}
	}
	for _, key := range []string{"recall@1", "recall@2", "recall@4", "recall@8", "nmi", "f1", "map@r", "r_precision", "recall@8_without_lone"} {
		if v, ok := keys[key].(float64); !ok || v <= 0 || v > 100 {
			t.Errorf("%s is %v", key, keys[key])
		}
	}
	if keys["recall@8"].(float64) > 100*47.0/48+1e-9 {
		t.Errorf("recall@8 is %v with one lone query of 48", keys["recall@8"])
	}
	var back Figures
	fatal(t, json.Unmarshal(text, &back))
	if !reflect.DeepEqual(&back, f) {
		t.Errorf("came back as %+v, was %+v", back, *f)
	}
	if v, ok := back.RecallAt(4); !ok || v != f.Recall[2].Percent {
		t.Errorf("Recall@4 is %v, %v", v, ok)
	}
	for i, in := range f.Intervals {
		if r := f.Recall[i]; in.K != r.K || in.Low > r.Percent || in.High < r.Percent {
			t.Errorf("Recall@%d is %v, outside its interval %+v", r.K, r.Percent, in)
		}
	}
	if _, ok := back.RecallAt(3); ok {
		t.Error("Recall@3 was not computed")
	}
}

func TestUndefinedFiguresAreLeftOut(t *testing.T) {
	e := &Embeddings{X: make([]float32, 12), N: 6, H: 2, Labels: []int{1, 1, 1, 2, 2, 2}}
	f, err := Evaluate(context.Background(), reference.New(), e, metric.Metric{Kind: metric.Euclidean}, Options{Restarts: -1, Ks: []int{1}})
	fatal(t, err)
	if r, _ := f.RecallAt(1); r != 0 {
		t.Errorf("collapsed: Recall@1 is %v", r)
	}
	text, err := json.Marshal(f)
	fatal(t, err)
	for _, key := range []string{"nmi", "spectral_decay", "margin_range_ratio", "null", "recall@2"} {
		if strings.Contains(string(text), `"`+key+`"`) {
			t.Errorf("%s is in %s", key, text)
		}
	}
}

func TestWhatCannotBeEvaluatedIsRefused(t *testing.T) {
	for _, bad := range []struct {
		labels []int
		ks     []int
		want   string
	}{
		{[]int{7, 7, 7}, nil, "all 3 rows are of class 7"},
		{[]int{1, 2, 3}, nil, "none of the 3 queries"},
		{[]int{1, 1, 3}, []int{0}, "K starts at 1"},
	} {
		e := &Embeddings{X: []float32{1, 2, 3}, N: 3, H: 1, Labels: bad.labels}
		_, err := Evaluate(context.Background(), reference.New(), e, metric.Metric{P: 2}, Options{Ks: bad.ks})
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("labels %v: error %v, want %q", bad.labels, err, bad.want)
		}
	}
	e := &Embeddings{X: []float32{1, 2, 3}, N: 3, H: 1, Labels: []int{7, 7, 7}}
	_, err := Evaluate(context.Background(), reference.New(), e, metric.Metric{P: 2}, Options{ClassName: func(int) string { return "wren" }})
	if err == nil || !strings.Contains(err.Error(), `of class "wren"`) {
		t.Errorf("one class with a name: %v", err)
	}
}
