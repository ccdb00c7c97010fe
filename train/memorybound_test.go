package train

import (
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

// TestAMemoryIsRefusedBeforeItIsMade holds what it is refused with, and that the plan
// counts what it takes.
func TestAMemoryIsRefusedBeforeItIsMade(t *testing.T) {
	c := run.Default("glyphs")
	c.Loss.Name, c.Loss.Memory = "contrastive", 10_000_000
	o, err := objectiveOf(c, 10)
	if err != nil {
		t.Fatal(err)
	}
	err = o.fits(c.Model.Dim, c.Batch(), 8<<30)
	if err == nil || !strings.Contains(err.Error(), "a memory of 10000000 embeddings of 128 numbers needs 46") {
		t.Error(err)
	}
	o.memory.Size = 1000
	if err := o.fits(c.Model.Dim, c.Batch(), 8<<30); err != nil {
		t.Error(err)
	}
	c.Loss.Name, c.Loss.Memory = "soft-triple", 0
	if o, err = objectiveOf(c, 1_000_000); err != nil {
		t.Fatal(err)
	}
	if err := o.fits(c.Model.Dim, c.Batch(), 8<<30); err == nil || !strings.Contains(err.Error(), "10000000 rows of classes of 128 numbers need") {
		t.Error(err)
	}
}
