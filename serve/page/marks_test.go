package page

import (
	"testing"

	"github.com/vernier-ml/vernier/serve/api"
)

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOldSearchesAreForgotten(t *testing.T) {
	m := newMemory(2)
	for _, q := range []string{"a", "b", "a", "c"} {
		m.keep(api.Result{Query: q})
	}
	if _, ok := m.find("a"); ok {
		t.Error("the oldest is still there")
	}
	if _, ok := m.find("c"); !ok || len(m.result) != 2 || len(m.order) != 2 {
		t.Errorf("%d results", len(m.result))
	}
}
