package data

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/transform"
)

// Labels from 1 on, with gaps, or that are words, become 0..C-1, and Classes
// keeps what they were; the same holds for the parts of a split.
func TestLabelsOfAnyKindAreNumberedFromZero(t *testing.T) {
	for name, c := range map[string]struct {
		labels, classes []string
		want            []int
	}{
		"from 1":    {[]string{"1", "2", "3", "1"}, []string{"1", "2", "3"}, []int{0, 1, 2, 0}},
		"with gaps": {[]string{"900", "7", "98", "7"}, []string{"7", "98", "900"}, []int{2, 0, 1, 0}},
		"negative":  {[]string{"-5", "0", "5", "0"}, []string{"-5", "0", "5"}, []int{0, 1, 2, 1}},
		"words":     {[]string{"wren", "robin", "Robin", "wren"}, []string{"Robin", "robin", "wren"}, []int{2, 1, 0, 2}},
	} {
		var table strings.Builder
		f := files{}
		table.WriteString("path,label\n")
		for i, l := range c.labels {
			fmt.Fprintf(&table, "%d.png,%s\n", i, l)
			f[fmt.Sprintf("%d.png", i)] = imagetest.EncodePNG(t, picture(8, 8, uint64(i)))
		}
		f["list.csv"] = []byte(table.String())
		set := mustOpen(t, "csv:"+filepath.Join(f.folder(t), "list.csv"))
		if !slices.Equal(set.Classes, c.classes) || !slices.Equal(set.Labels(), c.want) {
			t.Errorf("%s: classes %q, labels %v", name, set.Classes, set.Labels())
		}
		_, test, err := Split(set, SplitSpec{Count: 1})
		if err != nil || slices.Min(test.Labels()) != 0 || slices.Max(test.Labels()) != 1 || !slices.Equal(test.Classes, c.classes[1:]) {
			t.Errorf("%s: test classes %q, labels %v, %v", name, test.Classes, test.Labels(), err)
		}
	}
}

// What a loader keeps does not grow with the number of images it has read,
// whether they come from files or from a prepared file.
func TestMemoryStaysFlatOverTenThousandImages(t *testing.T) {
	f := files{}
	var table strings.Builder
	table.WriteString("path,label\n")
	for i := range 10_000 {
		file := fmt.Sprintf("%d.jpg", i%20)
		if i < 20 {
			f[file] = imagetest.EncodeJPEG(t, smooth(40, 30, uint64(i)))
		}
		fmt.Fprintf(&table, "%s,%d\n", file, i%100)
	}
	f["list.csv"] = []byte(table.String())
	spec := "csv:" + filepath.Join(f.folder(t), "list.csv")
	p, err := transform.Recipe{Size: 16, MinArea: 0.3, MaxArea: 1, Flip: true}.Train(transform.ImageNet())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := Open(t.Context(), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := Prepare(t.Context(), raw, PrepareOptions{Dir: t.TempDir(), Shorter: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer prepared.Close()
	for name, set := range map[string]*Set{"files": mustOpen(t, spec), "prepared": prepared} {
		l := mustLoader(t, set, p, LoaderOptions{Workers: 2, CacheBytes: 1 << 20}) // 1 MiB of 36
		s, err := NewRandom(set, 50, 1)
		if err != nil {
			t.Fatal(err)
		}
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		var early int64
		images := 0
		for batch, err := range l.Epoch(t.Context(), s, 0, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if images += len(batch.Items); images == 2000 {
				early = heap()
			}
			batch.Recycle()
		}
		const tolerance = 2 << 20 // batches in flight
		if grown := heap() - early; images != 10_000 || grown > tolerance {
			t.Errorf("%s: %d bytes more after %d images than after 2000", name, grown, images)
		}
	}
}

// BenchmarkSOPList reads the lists of Stanford Online Products in their true
// length.
func BenchmarkSOPList(b *testing.B) {
	spec := "sop:" + sopFiles(spread(59551, 11318), spread(60502, 11316)).folder(b)
	for b.Loop() {
		set, err := Open(b.Context(), spec, Options{})
		if err != nil || len(set.Items) != 120_053 {
			b.Fatal(err)
		}
		set.Close()
	}
}
