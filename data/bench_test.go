package data

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/transform"
)

// benchSet is the folder set in VERNIER_BENCH_IMAGES, or one of smooth 500 x 375
// JPEGs, which are smaller as files than photographs.
func benchSet(b *testing.B) string {
	if dir := os.Getenv("VERNIER_BENCH_IMAGES"); dir != "" {
		return "folder:" + dir
	}
	f := files{}
	for i := range 64 {
		f[fmt.Sprintf("c%d/%d.jpg", i%4, i)] = imagetest.EncodeJPEG(b, smooth(500, 375, uint64(i)))
	}
	return "folder:" + f.folder(b)
}

// cpuSeconds is the time that the process has computed.
func cpuSeconds(b *testing.B) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkLoader makes batches of 32 with a random resized crop at 224 and a
// flip, of 500 x 375 JPEGs: from their files, from a prepared file, and from
// decoded images in memory.
func BenchmarkLoader(b *testing.B) {
	spec := benchSet(b)
	recipe, err := transform.Preset("pa")
	if err != nil {
		b.Fatal(err)
	}
	p, err := recipe.Train(transform.ImageNet())
	if err != nil {
		b.Fatal(err)
	}
	raw := mustOpen(b, spec)
	again, err := Open(b.Context(), spec, Options{})
	if err != nil {
		b.Fatal(err)
	}
	prepared, err := Prepare(b.Context(), again, PrepareOptions{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer prepared.Close()
	for _, c := range []struct {
		name  string
		set   *Set
		bytes int64
	}{{"files", raw, -1}, {"prepared", prepared, -1}, {"memory", raw, 1 << 40}} {
		b.Run(c.name, func(b *testing.B) {
			l := mustLoader(b, c.set, p, LoaderOptions{CacheBytes: c.bytes})
			s, err := NewRandom(c.set, 32, 1)
			if err != nil {
				b.Fatal(err)
			}
			collect(b, l, s, 0, 0)
			b.ReportAllocs()
			images, epoch, cpu := 0, 0, cpuSeconds(b)
			for b.Loop() {
				for batch, err := range l.Epoch(b.Context(), s, epoch, 0) {
					if err != nil {
						b.Fatal(err)
					}
					images += len(batch.Items)
					batch.Recycle()
				}
				epoch++
			}
			b.ReportMetric(float64(images)/b.Elapsed().Seconds(), "images/s")
			b.ReportMetric((cpuSeconds(b)-cpu)/float64(images)*1e6, "cpu-µs/image")
		})
	}
}
