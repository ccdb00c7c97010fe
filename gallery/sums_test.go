package gallery

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/weights"
)

// files are those of a folder, by name.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	fatal(t, err)
	all := map[string][]byte{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		fatal(t, err)
		all[e.Name()] = b
	}
	return all
}

// TestABitThatFlipsInAnExportIsFound changes bits of every file that is read.
func TestABitThatFlipsInAnExportIsFound(t *testing.T) {
	for _, f := range Formats() {
		dir := t.TempDir()
		fatal(t, Write(filepath.Join(dir, "embeddings."+f), newTable(6, 3, 1)))
		fatal(t, os.WriteFile(filepath.Join(dir, ClassesFile), []byte("label,class\n0,a\n1,b\n2,c\n"), 0o644))
		fatal(t, os.WriteFile(filepath.Join(dir, DescriptionFile), []byte(`{"metric": "cosine", "model": "ff"}`), 0o644))
		var names []string
		for name := range files(t, dir) {
			names = append(names, name)
		}
		fatal(t, WriteSums(dir, names))
		whole := files(t, dir)
		if _, err := Read(dir); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, name := range names {
			if (name == ClassesFile && f != "npy") || (name == DescriptionFile && f != "npy" && f != "csv") {
				continue // what the format says itself
			}
			for at := 0; at < len(whole[name]); at += 1 + len(whole[name])/40 {
				b := bytes.Clone(whole[name])
				b[at] ^= 1 << (at % 8)
				fatal(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
				if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), name+" is not what "+SumsFile+" beside it says") {
					t.Errorf("%s, byte %d: %v", name, at, err)
				}
			}
			fatal(t, os.WriteFile(filepath.Join(dir, name), whole[name], 0o644))
		}
		fatal(t, os.Remove(filepath.Join(dir, SumsFile)))
		if _, err := Read(dir); err != nil {
			t.Errorf("%s without checksums: %v", f, err)
		}
	}
}

// TestFormatsThatHaveTheirOwnChecksum changes every number and text, in files of the
// right form.
func TestFormatsThatHaveTheirOwnChecksum(t *testing.T) {
	for _, f := range []string{"safetensors", "npz", "parquet"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "alone."+f)
		whole := newTable(4, 3, 1)
		if f == "parquet" {
			whole.Paths[1] = "not UTF-8 \xff\xfe.png"
		}
		fatal(t, Write(path, whole))
		got, err := Read(path)
		fatal(t, err)
		sum, err := got.checksum()
		fatal(t, err)
		for what, change := range map[string]func(*Table){
			"a number": func(t *Table) { t.X[5] += 1e-3 },
			"a label":  func(t *Table) { t.Labels[2]++ },
			"a path":   func(t *Table) { t.Paths[3] += "x" },
			"a class":  func(t *Table) { t.Classes[3] += "x" },
			"metric":   func(t *Table) { t.Metric += "x" },
			"model":    func(t *Table) { t.Model += "x" },
			"data":     func(t *Table) { t.Data += "x" },
		} {
			other := whole.Select([]int{0, 1, 2, 3})
			change(other)
			if err := other.verify(sum); err == nil || !strings.Contains(err.Error(), "it is damaged") {
				t.Errorf("%s, %s: %v", f, what, err)
			}
		}
	}
	// A file of another program with the checksum of other contents, and without one.
	x, err := weights.FromFloat32(embeddingsName, []int{1, 2}, []float32{1, 2})
	fatal(t, err)
	text, err := weights.FromStrings(checksumName, []string{"00"})
	fatal(t, err)
	path := filepath.Join(t.TempDir(), "x.npz")
	fatal(t, weights.WriteNPZ(path, []*weights.Tensor{x, text}))
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path+": it is damaged") {
		t.Errorf("another checksum: %v", err)
	}
	fatal(t, weights.WriteNPZ(path, []*weights.Tensor{x}))
	if _, err := Read(path); err != nil {
		t.Errorf("no checksum: %v", err)
	}
}

func TestSumsOfOtherFilesStay(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "1", "b c": "2"} {
		fatal(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	fatal(t, WriteSums(dir, []string{"a", "b c"}))
	fatal(t, os.WriteFile(filepath.Join(dir, "a"), []byte("3"), 0o644))
	fatal(t, WriteSums(dir, []string{"a"}))
	// From printf 3 | sha256sum and printf 2 | sha256sum.
	want := "4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce  a\n" +
		"d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35  b c\n"
	if got := string(files(t, dir)[SumsFile]); got != want {
		t.Errorf("it says\n%s, want\n%s", got, want)
	}
	fatal(t, os.WriteFile(filepath.Join(dir, SumsFile), []byte(want+"what?\n"), 0o644))
	if err := checkSum(filepath.Join(dir, "a")); err == nil || !strings.Contains(err.Error(), SumsFile+", line 3") {
		t.Errorf("a line that is none: %v", err)
	}
}
