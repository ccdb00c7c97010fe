package weights_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/weights"
)

// A file of numbers that are read when they are written is that of numbers in memory.
func TestDeferredNumbersAreReadWhenTheyAreWritten(t *testing.T) {
	const n = 100_000 // more than one read
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(i) - 0.5
	}
	reads := 0
	late, err := weights.Deferred("x", []int{n / 2, 2}, func(dst []float32) error {
		reads++
		copy(dst, data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	early, err := weights.FromFloat32("x", []int{n / 2, 2}, data)
	if err != nil {
		t.Fatal(err)
	}
	if reads != 0 {
		t.Errorf("%d reads before a number is asked for", reads)
	}
	dir := t.TempDir()
	var files [2][]byte
	for i, x := range []*weights.Tensor{late, early} {
		path := filepath.Join(dir, "x.safetensors")
		if err := weights.WriteChecked(path, []*weights.Tensor{x}, map[string]string{"a": "b"}); err != nil {
			t.Fatal(err)
		}
		if files[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(files[0], files[1]) {
		t.Error("the files differ")
	}
	if reads != 2 {
		t.Errorf("%d reads, want one for the checksum and one for the file", reads)
	}
	data[n-1] = 7
	if got, err := late.Float32(); err != nil || !slices.Equal(got, data) {
		t.Errorf("numbers that changed meanwhile: %v", err)
	}
}

func TestAFailureToReadDeferredNumbersIsThatOfTheFile(t *testing.T) {
	broken := errors.New("the device is gone")
	x, err := weights.Deferred("x", []int{3}, func([]float32) error { return broken })
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := weights.WriteChecked(path, []*weights.Tensor{x}, nil); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file")
	}
	if _, err := weights.Deferred("x", []int{-1}, nil); err == nil {
		t.Error("a negative length is accepted")
	}
}
