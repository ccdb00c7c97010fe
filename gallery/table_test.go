package gallery

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/vernier-ml/vernier/eval"
)

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newTable is a table of rows with all that there is to know of them.
func newTable(n, h int, seed uint64) *Table {
	r := rand.New(rand.NewPCG(seed, 9))
	t := &Table{Embeddings: &eval.Embeddings{N: n, H: h}, Metric: "brm:tanh,p=1", Model: "0123abcd", Data: "birds (test)"}
	for range n * h {
		t.X = append(t.X, float32(r.NormFloat64()*math.Pow(10, float64(r.IntN(9)-4))))
	}
	for i := range n {
		t.Labels = append(t.Labels, i%3)
		t.Classes = append(t.Classes, []string{"wren", `rook, "black"`, "Ängste\nüber"}[i%3])
		t.Paths = append(t.Paths, fmt.Sprintf("dir %d/ü%d.png", i%2, i))
	}
	return t
}

func TestTablesComeBackFromEveryFormat(t *testing.T) {
	for _, f := range Formats() {
		for _, size := range [][2]int{{1, 1}, {7, 3}, {rowBatch*2 + 1, 5}} {
			want := newTable(size[0], size[1], 1)
			path := filepath.Join(t.TempDir(), "embeddings."+f)
			fatal(t, Write(path, want))
			if f == "npy" {
				want.Classes = nil // only in classes.csv of an export
			}
			if f == "npy" || f == "csv" {
				want.Metric, want.Model, want.Data = "", "", ""
			}
			got, err := Read(path)
			fatal(t, err)
			if f == "csv" {
				for i, x := range want.X {
					if got.X[i] != x {
						t.Errorf("csv: %v came back as %v", x, got.X[i])
					}
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %d rows: read %+v, want %+v", f, size[0], got, want)
			}
			if got, err = Read(filepath.Dir(path)); err != nil || got.N != want.N {
				t.Errorf("%s by its folder: %v", f, err)
			}
		}
	}
}

func TestTablesOfNumbersAlone(t *testing.T) {
	for _, f := range Formats() {
		want := &Table{Embeddings: newTable(5, 2, 2).Embeddings}
		want.Labels = nil
		path := filepath.Join(t.TempDir(), "rows."+f)
		fatal(t, Write(path, want))
		if got, err := Read(path); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read %+v, want %+v: %v", f, got, want, err)
		}
	}
}

func TestDescriptionBesideAnExportIsRead(t *testing.T) {
	dir := t.TempDir()
	fatal(t, Write(filepath.Join(dir, "embeddings.npy"), newTable(4, 2, 3)))
	fatal(t, os.WriteFile(filepath.Join(dir, DescriptionFile), []byte(`{"metric": "cosine", "model": "ff", "rows": 4}`), 0o644))
	got, err := Read(dir)
	if err != nil || got.Metric != "cosine" || got.Model != "ff" {
		t.Errorf("metric %q of model %q: %v", got.Metric, got.Model, err)
	}
	fatal(t, os.WriteFile(filepath.Join(dir, DescriptionFile), []byte(`{`), 0o644))
	if _, err = Read(dir); err == nil || !strings.Contains(err.Error(), DescriptionFile) {
		t.Errorf("a damaged description: %v", err)
	}
}

// TestParquetOfDoublesUnderAnotherName is what pandas writes of a column of
// Python lists beside others.
func TestParquetOfDoublesUnderAnotherName(t *testing.T) {
	type row struct {
		Vec   []float64 `parquet:"vec,list,optional"`
		Score float64   `parquet:"score"`
		Class *string   `parquet:"class,optional"`
		Label int32     `parquet:"label"`
	}
	a, b := "wren", "rook"
	path := filepath.Join(t.TempDir(), "x.parquet")
	fatal(t, parquet.WriteFile(path, []row{{[]float64{1, 2}, 0.5, &a, 7}, {[]float64{3, 4.5}, 0.25, &b, 3}}))
	got, err := Read(path)
	fatal(t, err)
	if want := []float32{1, 2, 3, 4.5}; !reflect.DeepEqual(got.X, want) || got.H != 2 || !reflect.DeepEqual(got.Labels, []int{7, 3}) || got.Classes[1] != "rook" || got.Paths != nil {
		t.Errorf("read %+v", got)
	}
	fatal(t, parquet.WriteFile(path, []row{{[]float64{1, 2}, 0.5, &a, 7}, {[]float64{3}, 0.25, &b, 3}}))
	if _, err = Read(path); err == nil || !strings.Contains(err.Error(), "row 1 has 1 numbers, the first has 2") {
		t.Errorf("ragged lists: %v", err)
	}
	fatal(t, parquet.WriteFile(path, []row{{[]float64{1, 2}, 0.5, &a, 7}, {nil, 0.25, nil, 3}}))
	if _, err = Read(path); err == nil || !strings.Contains(err.Error(), "row 1 has no value") {
		t.Errorf("a missing list: %v", err)
	}
}

func TestBadTablesAreRefusedByFileAndPlace(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		fatal(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	good := filepath.Join(dir, "good.parquet")
	fatal(t, Write(good, newTable(100, 8, 1)))
	whole, err := os.ReadFile(good)
	fatal(t, err)
	for path, says := range map[string]string{
		put("text.npy", "text"):                 "text.npy",
		put("text.parquet", "PAR1"):             "text.parquet: not a parquet file",
		put("cut.parquet", string(whole[:400])): "parquet",
		put("other.txt", "1"):                   ".parquet, .safetensors",
		filepath.Join(dir, "missing.csv"):       "missing.csv",
		t.TempDir():                             "holds no file of embeddings",
	} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want %q", filepath.Base(path), err, says)
		}
	}
	if err := Write(filepath.Join(dir, "x.txt"), newTable(1, 1, 1)); err == nil || !strings.Contains(err.Error(), ".npz") {
		t.Errorf("an unknown ending: %v", err)
	}
	bad := newTable(3, 2, 1)
	bad.Paths = bad.Paths[:2]
	if err := Write(filepath.Join(dir, "x.csv"), bad); err == nil || !strings.Contains(err.Error(), "2 paths for 3 rows") {
		t.Errorf("too few paths: %v", err)
	}
}

// TestDamagedParquetNeverEndsTheProcess flips bytes all over a file.
func TestDamagedParquetNeverEndsTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	fatal(t, Write(path, newTable(20, 3, 1)))
	whole, err := os.ReadFile(path)
	fatal(t, err)
	r := rand.New(rand.NewPCG(1, 1))
	refused := 0
	for i := 0; i < len(whole); i += 7 {
		damaged := append([]byte(nil), whole...)
		damaged[i] ^= byte(1 + r.IntN(255))
		fatal(t, os.WriteFile(path, damaged, 0o644))
		if _, err := Read(path); err != nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}
