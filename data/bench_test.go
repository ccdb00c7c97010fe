package data

import (
	"fmt"
	"testing"
)

// BenchmarkLoader reads 500 x 375 JPEGs, random resized crop at 224 and flip.
func BenchmarkLoader(b *testing.B) {
	f := files{}
	for i := range 64 {
		f[fmt.Sprintf("c%d/%d.jpg", i%4, i)] = encodeJPEG(b, smooth(500, 375, uint64(i)))
	}
	set := mustOpen(b, "folder:"+f.folder(b))
	recipe, err := Preset("pa")
	if err != nil {
		b.Fatal(err)
	}
	p, err := recipe.Train(ImageNet())
	if err != nil {
		b.Fatal(err)
	}
	for name, cache := range map[string]int64{"files": -1, "memory": 0} {
		b.Run(name, func(b *testing.B) {
			l := mustLoader(b, set, p, LoaderOptions{CacheBytes: cache})
			s, err := NewRandom(set, 32, 1)
			if err != nil {
				b.Fatal(err)
			}
			collect(b, l, s, 0, 0)
			b.ReportAllocs()
			images := 0
			for b.Loop() {
				for batch, err := range l.Epoch(b.Context(), s, 0, 0) {
					if err != nil {
						b.Fatal(err)
					}
					images += len(batch.Items)
					batch.Recycle()
				}
			}
			b.ReportMetric(float64(images)/b.Elapsed().Seconds(), "images/s")
		})
	}
}
