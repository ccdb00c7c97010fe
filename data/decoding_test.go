package data

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/image/tiff"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

func TestAnEndedContextIsNoFaultOfAnImage(t *testing.T) {
	set := mustOpen(t, "folder:"+classes(t, []string{"a", "b"}, 2).folder(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := set.Load(ctx, 0)
	if bad := (*ImageError)(nil); !errors.Is(err, context.Canceled) || errors.As(err, &bad) {
		t.Errorf("%v", err)
	}
}

// Only the end of a TIFF tells its size, so that the memory is claimed twice.
func TestAnImageWhoseHeaderLiesFarBehindIsRead(t *testing.T) {
	want := picture(200, 150, 3)
	var b bytes.Buffer
	if err := tiff.Encode(&b, want, nil); err != nil {
		t.Fatal(err)
	}
	if at := binary.LittleEndian.Uint32(b.Bytes()[4:]); at < 1<<16 {
		t.Fatalf("the directory stands at %d", at)
	}
	set := mustOpen(t, "folder:"+files{"a/x.tif": b.Bytes(), "b/y.tif": b.Bytes()}.zip(t))
	if m, err := set.Load(t.Context(), 0); err != nil || !bytes.Equal(m.Pix, want.Pix) {
		t.Errorf("%v", err)
	}
	small := &Set{Items: set.Items, store: fileStore{set.store.(fileStore).files, pixels.NewDecoder(pixels.Options{Memory: 100_000})}}
	if m, err := small.Load(t.Context(), 1); err != nil || !bytes.Equal(m.Pix, want.Pix) {
		t.Errorf("with little memory: %v", err)
	}
}

// Batches hold the same numbers whether images are decoded in part, because
// there is no memory for them, or as a whole.
func TestPartlyDecodedImagesGiveTheSameBatches(t *testing.T) {
	f := files{}
	for i := range 12 {
		f[fmt.Sprintf("c%d/%d.jpg", i%3, i)] = imagetest.EncodeJPEG(t, smooth(120+i, 90-i, uint64(i)))
	}
	f["c0/x.png"] = imagetest.EncodePNG(t, picture(60, 70, 1))
	f["c1/cut.jpg"] = imagetest.EncodeJPEG(t, smooth(200, 150, 3))[:3000]
	set := mustOpen(t, "folder:"+f.folder(t))
	p, err := transform.Recipe{Size: 24, MinArea: 0.1, MaxArea: 1, Flip: true}.Train(transform.ImageNet())
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewBalanced(set, 3, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	var want []Batch
	for i, memory := range []int64{1 << 30, -1, 100_000} {
		l := mustLoader(t, set, p, LoaderOptions{Workers: 2, MaxBad: 2, CacheBytes: memory})
		collect(t, l, s, 0, 0)
		got := collect(t, l, s, 1, 0)
		if i == 0 {
			want = got
		}
		for k := range got {
			if !slices.Equal(got[k].Images, want[k].Images) || !slices.Equal(got[k].Items, want[k].Items) {
				t.Errorf("%d bytes of memory: batch %d differs", memory, k)
			}
		}
	}
}

func TestALargeEntryOfAnArchiveIsNotUnfoldedForNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for _, name := range []string{"a/zeros.jpg", "b/good.png"} {
		e, err := w.Create(name)
		if err == nil && name == "a/zeros.jpg" {
			_, err = e.Write(make([]byte, 8<<20))
		} else if err == nil {
			_, err = e.Write(imagetest.EncodePNG(t, picture(8, 8, 1)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	set := mustOpen(t, "folder:"+path)
	if _, err := set.Load(t.Context(), 0); !errors.Is(err, pixels.ErrNotImage) {
		t.Errorf("%v", err)
	}
	if _, err := set.Load(t.Context(), 1); err != nil {
		t.Error(err)
	}
}
