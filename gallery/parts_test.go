package gallery

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/sums"
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

// TestABitThatFlipsInAnExportIsFound changes bits of every file of one.
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
		fatal(t, sums.WriteFolder(dir, names))
		whole := files(t, dir)
		if _, err := Read(dir); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, name := range names {
			for at := 0; at < len(whole[name]); at += 1 + len(whole[name])/40 {
				b := bytes.Clone(whole[name])
				b[at] ^= 1 << (at % 8)
				fatal(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
				if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), name+" is not what "+sums.FolderFile+" beside it says") {
					t.Errorf("%s, byte %d: %v", name, at, err)
				}
			}
			fatal(t, os.WriteFile(filepath.Join(dir, name), whole[name], 0o644))
		}
		fatal(t, os.Remove(filepath.Join(dir, sums.FolderFile)))
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

// TestWhatBelongsTogetherIsThere removes files whose checksums are there, one at a time.
func TestWhatBelongsTogetherIsThere(t *testing.T) {
	dir := t.TempDir()
	for _, f := range Formats() {
		fatal(t, Write(filepath.Join(dir, "embeddings."+f), newTable(6, 3, 1)))
	}
	fatal(t, os.WriteFile(filepath.Join(dir, ClassesFile), []byte("label,class\n0,a\n1,b\n2,c\n"), 0o644))
	fatal(t, os.WriteFile(filepath.Join(dir, DescriptionFile), []byte(`{"metric": "cosine", "model": "ff"}`), 0o644))
	whole := files(t, dir)
	fatal(t, sums.WriteFolder(dir, slices.Collect(maps.Keys(whole))))
	npy := filepath.Join(dir, "embeddings.npy")
	for name := range whole {
		fatal(t, os.Remove(filepath.Join(dir, name)))
		needed := slices.Contains([]string{"embeddings.npy", "labels.npy", "paths.npy", ClassesFile, DescriptionFile}, name)
		if _, err := Read(npy); (err != nil) != needed || needed && !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
		if name != DescriptionFile {
			if _, err := Read(dir); err != nil { // others have what is needed
				t.Errorf("the folder without %s: %v", name, err)
			}
		}
		fatal(t, os.WriteFile(filepath.Join(dir, name), whole[name], 0o644))
	}
}

// TestAFileThatIsCutIsFound cuts files that have no checksum of their own where a row ends.
func TestAFileThatIsCutIsFound(t *testing.T) {
	for _, f := range Formats() {
		dir := t.TempDir()
		path := filepath.Join(dir, "x."+f)
		fatal(t, WriteSigned(path, f, newTable(6, 3, 1)))
		got, err := Read(path)
		if err != nil || got.N != 6 {
			t.Fatalf("%s: %v", f, err)
		}
		all := files(t, dir)
		if n := strings.Count(string(all["x."+f+".sha256"]), "\n"); n != len(all)-1 {
			t.Errorf("%s: checksums of %d of %d files", f, n, len(all)-1)
		}
		for name, b := range all {
			if name == "x."+f+".sha256" {
				continue
			}
			cut := b[:len(b)-1]
			if f == "csv" {
				cut = b[:bytes.LastIndexByte(cut, '\n')+1]
			}
			fatal(t, os.WriteFile(filepath.Join(dir, name), cut, 0o644))
			if _, err := Read(path); err == nil || !strings.Contains(err.Error(), name+" is not what x."+f+".sha256 beside it says") {
				t.Errorf("%s is cut: %v", name, err)
			}
			fatal(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
		}
	}
}
