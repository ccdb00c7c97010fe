package linear

import (
	"context"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
)

// BenchmarkFit times every learner on 2,000 rows of 7 classes in 19 columns, the
// size of the table segment.
func BenchmarkFit(b *testing.B) {
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer eng.Close()
	p := blobs(7, 286, 19, 1)
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			l, err := New(name, Env{Seed: 1, Engine: eng})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := l.Fit(context.Background(), p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
