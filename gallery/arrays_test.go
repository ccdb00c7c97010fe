package gallery

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/vernier-ml/vernier/weights"
)

// TestRowsThatAreNotFiniteAreRefused by file and row, in every format.
func TestRowsThatAreNotFiniteAreRefused(t *testing.T) {
	dir := t.TempDir()
	type row struct {
		Embedding []float64 `parquet:"embedding,list"`
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e39} { // the last is infinite as float32
		x, err := weights.FromFloat32(embeddingsName, []int{2, 2}, []float32{1, 2, float32(bad), 4})
		fatal(t, err)
		for f, write := range map[string]func(path string) error{
			"npy":         func(path string) error { return weights.WriteNPY(path, x) },
			"npz":         func(path string) error { return weights.WriteNPZ(path, []*weights.Tensor{x}) },
			"safetensors": func(path string) error { return weights.WriteSafetensors(path, []*weights.Tensor{x}, nil) },
			"parquet":     func(path string) error { return parquet.WriteFile(path, []row{{[]float64{1, 2}}, {[]float64{bad, 4}}}) },
		} {
			path := filepath.Join(dir, "x."+f)
			fatal(t, write(path))
			if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), "row 1 holds") {
				t.Errorf("%s, %v: %v", f, bad, err)
			}
		}
	}
}

func TestMalformedArrays(t *testing.T) {
	dir := t.TempDir()
	tensor := func(name string, shape ...int) *weights.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		x, err := weights.FromFloat32(name, shape, make([]float32, n))
		fatal(t, err)
		return x
	}
	text, err := weights.FromStrings(pathsName, []string{"a", "b", "c"})
	fatal(t, err)
	labels, err := weights.FromInt64(labelsName, []int{3}, []int64{1, 2, 3})
	fatal(t, err)
	rows := tensor(embeddingsName, 2, 3)
	for name, c := range map[string]struct {
		arrays []*weights.Tensor
		meta   map[string]string
		says   string
	}{
		"none.npz":                  {[]*weights.Tensor{tensor("x", 2, 3)}, nil, `there is no array "embeddings"`},
		"flat.npz":                  {[]*weights.Tensor{tensor(embeddingsName, 6)}, nil, "want (rows, numbers)"},
		"deep.safetensors":          {[]*weights.Tensor{tensor(embeddingsName, 1, 2, 3)}, nil, "want (rows, numbers)"},
		"no.rows.npz":               {[]*weights.Tensor{tensor(embeddingsName, 0, 3)}, nil, "0 rows of 3 numbers"},
		"no.numbers.safetensors":    {[]*weights.Tensor{tensor(embeddingsName, 3, 0)}, nil, "3 rows of 0 numbers"},
		"floats.npz":                {[]*weights.Tensor{rows, tensor(labelsName, 2)}, nil, "want whole numbers"},
		"square.npz":                {[]*weights.Tensor{rows, tensor(labelsName, 2, 1)}, nil, "want one dimension"},
		"labels.npz":                {[]*weights.Tensor{rows, labels}, nil, "3 labels for 2 rows"},
		"paths.npz":                 {[]*weights.Tensor{rows, text}, nil, "3 paths for 2 rows"},
		"numbers.npz":               {[]*weights.Tensor{rows, tensor(pathsName, 2)}, nil, "paths"},
		"metadata.safetensors":      {[]*weights.Tensor{rows}, map[string]string{pathsName: `["a"]`}, "1 paths for 2 rows"},
		"metadata.json.safetensors": {[]*weights.Tensor{rows}, map[string]string{classesName: `["a"`}, `metadata "classes"`},
		"metadata.type.safetensors": {[]*weights.Tensor{rows}, map[string]string{classesName: `[1, 2]`}, `metadata "classes"`},
	} {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "npz") {
			fatal(t, weights.WriteNPZ(path, c.arrays))
		} else {
			fatal(t, weights.WriteSafetensors(path, c.arrays, c.meta))
		}
		if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	// Files that are cut anywhere.
	for _, f := range Formats() {
		path := filepath.Join(dir, "cut."+f)
		fatal(t, Write(path, &Table{Embeddings: newRows(3, 1, 2, 3, 4, 5, 6)}))
		whole, err := os.ReadFile(path)
		fatal(t, err)
		for n := range whole {
			if f == "csv" && n > 0 && !strings.HasSuffix(string(whole[:n]), ",") {
				continue // a shorter table
			}
			fatal(t, os.WriteFile(path, whole[:n], 0o644))
			if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("%s cut to %d bytes: %v", f, n, err)
			}
		}
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty.index": "", "other.index": "vernier gallerx\x02 and more", "text.txt": "x"} {
		fatal(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for name, says := range map[string]string{
		"empty.index": "is empty", "other.index": `begins with "vernier gallery" and not with "vernier gallerx\x02"`, "text.txt": "neither an index", "missing": "no such file",
	} {
		path := filepath.Join(dir, name)
		if _, err := Find(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", name, err, says)
		}
		if name == "missing" {
			continue
		}
		if _, err := Append(path, testInfo, newTable(1, 4, 1)); err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "no index") {
			t.Errorf("%s: Append says %v", name, err)
		}
	}
	old := filepath.Join(dir, "old.index")
	fatal(t, os.WriteFile(old, append([]byte("vernier gallery\x01"), make([]byte, 5000)...), 0o644))
	if _, err := Find(old); err == nil || !strings.Contains(err.Error(), "of version 1 of its format") {
		t.Errorf("an older format: %v", err)
	}
}
