package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/sums"
)

func TestIndexAndSearch(t *testing.T) {
	run, images := trained(t)
	dir := t.TempDir()
	index := filepath.Join(dir, "birds.index")
	query := filepath.Join(images, "class 07", "2.png")
	add := func(wantAdded, wantRows int, args ...string) {
		t.Helper()
		code, out, errs := vernier(t, append([]string{"index", run, "--out", index, "--json"}, args...)...)
		var r indexReport
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitDone || r.Added != wantAdded || r.Rows != wantRows {
			t.Errorf("%v: exit %d, %v: %+v, want %d rows added, %d in all\n%s", args, code, err, r, wantAdded, wantRows, errs)
		}
	}
	search := func(args ...string) []found {
		t.Helper()
		code, out, errs := vernier(t, append([]string{"search", run, "--json"}, args...)...)
		var list []found
		if err := json.Unmarshal([]byte(out), &list); err != nil || code != cli.ExitDone {
			t.Fatalf("%v: exit %d, %v\n%s", args, code, err, errs)
		}
		return list
	}
	add(8, 8, filepath.Join(images, "class 06"))
	add(8, 16, filepath.Join(images, "class 06"), filepath.Join(images, "class 07"))
	add(32, 48, "--split", "test") // the files that are there are known
	add(48, 96, "--data", "folder:"+images)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(images, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(images, "class 06"))
	add(0, 96, ".", "../class 07", "../class 06/../class 07/2.png", filepath.Join(link, "class 08"))
	add(0, 96, "--data", "folder:../../"+filepath.Base(images))
	twice := filepath.Join(dir, "twice.index")
	if code, out, errs := vernier(t, "index", run, "--out", twice, "0.png", "./0.png", images+"/class 06/0.png", "1.png"); code != cli.ExitDone || !strings.Contains(out, "added 2 rows, left out 2 that were given twice; it has 2") {
		t.Errorf("an image named three times: exit %d\n%s\n%s", code, out, errs)
	}
	near := search("--gallery", index, "--query", query, "-k", "3", filepath.Join(images, "class 08", "0.png"))
	if len(near) != 2 || near[0].Query != query || len(near[0].Neighbors) != 3 {
		t.Fatalf("found %+v", near)
	}
	at := newPlaces()
	// An image that came by itself has its class of those that came with one.
	for i, want := range []neighbor{{Path: at.of(query), Class: "class 07"}, {Path: at.of(filepath.Join(images, "class 08", "0.png")), Class: "class 08"}} {
		if n := near[i].Neighbors[0]; n.Distance > 1e-5 || n.Same != nil || n.Path != want.Path || n.Class != want.Class {
			t.Errorf("nearest to itself: %+v, want %+v", n, want)
		}
	}

	// Every kind of gallery gives the same answer.
	if code, _, errs := vernier(t, "export", run, "--out", filepath.Join(dir, "export")); code != cli.ExitDone {
		t.Fatal(errs)
	}
	want := search("--query", query, "-k", "5")[0].Neighbors
	galleries := []string{run, filepath.Join(dir, "export")}
	for _, f := range gallery.Formats() {
		galleries = append(galleries, filepath.Join(dir, "export", "embeddings."+f))
	}
	for _, g := range galleries {
		got := search("--gallery", g, "--query", query, "-k", "5")[0].Neighbors
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s, rank %d: %+v, want %+v", g, i+1, got[i], want[i])
			}
		}
	}
	t.Run("a damaged export", func(t *testing.T) {
		for _, f := range gallery.Formats() {
			path := filepath.Join(dir, "export", "embeddings."+f)
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := bytes.Clone(whole)
			damaged[len(whole)*2/3] ^= 1
			if err := os.WriteFile(path, damaged, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"search", run, "--gallery", path, "--query", query}, {"index", run, "--from", path, "--out", filepath.Join(dir, "none.index")}} {
				if code, _, errs := vernier(t, args...); code != cli.ExitFailed || !strings.Contains(errs, path+": embeddings."+f+" is not what SHA256SUMS beside it says") {
					t.Errorf("%v: exit %d\n%s", args, code, errs)
				}
			}
			if err := os.WriteFile(path, whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		// A second export keeps the checksums of what it does not replace.
		if code, _, errs := vernier(t, "export", run, "--out", filepath.Join(dir, "export"), "--format", "onnx,csv", "--force"); code != cli.ExitDone {
			t.Fatal(errs)
		}
		sums, err := os.ReadFile(filepath.Join(dir, "export", sums.FolderFile))
		if names := strings.Fields(string(sums)); err != nil || len(names) != 2*12 || !slices.Contains(names, "network.onnx") || !slices.Contains(names, "labels.npy") {
			t.Errorf("checksums of %v (%v)", names, err)
		}
	})
	from := filepath.Join(dir, "from.index")
	if code, out, errs := vernier(t, "index", run, "--out", from, "--from", filepath.Join(dir, "export", "embeddings.parquet")); code != cli.ExitDone || !strings.Contains(out, "added 48 rows") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	if got := search("--gallery", from, "--query", query, "-k", "5")[0].Neighbors; got[4] != want[4] {
		t.Errorf("an index made of embeddings: %+v, want %+v", got, want)
	}

	// The threshold marks what is the same.
	if code, _, errs := vernier(t, "verify", run, "--calibrate", "eer", "--store"); code != cli.ExitDone {
		t.Fatal(errs)
	}
	if n := search("--gallery", index, "--query", query)[0].Neighbors; n[0].Same == nil || !*n[0].Same {
		t.Errorf("the image itself is not the same: %+v", n[0])
	}

	t.Run("another model is refused", func(t *testing.T) {
		other := filepath.Join(dir, "other")
		if code, _, errs := vernier(t, quick(images, other)...); code != cli.ExitDone {
			t.Fatal(errs)
		}
		for _, g := range []string{index, run, filepath.Join(dir, "export")} {
			code, _, errs := vernier(t, "search", other, "--gallery", g, "--query", query)
			if code != cli.ExitFailed || !strings.Contains(errs, "another model") || !strings.Contains(errs, g) {
				t.Errorf("%s: exit %d\n%s", g, code, errs)
			}
		}
		if code, _, errs := vernier(t, "index", other, "--out", index, images); code != cli.ExitFailed || !strings.Contains(errs, "another model") {
			t.Errorf("index: exit %d\n%s", code, errs)
		}
		// Not even where there is nothing to add.
		if code, out, errs := vernier(t, "index", other, "--out", index, filepath.Join(images, "class 06")); code != cli.ExitFailed || !strings.Contains(errs, "another model") {
			t.Errorf("index of known paths: exit %d\n%s\n%s", code, out, errs)
		}
		if code, _, errs := vernier(t, "index", other, "--out", index, "--from", filepath.Join(dir, "export")); code != cli.ExitFailed || !strings.Contains(errs, "another model") {
			t.Errorf("index --from: exit %d\n%s", code, errs)
		}
	})
	t.Run("force", func(t *testing.T) {
		before, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		// Rows that cannot be had leave the index as it was.
		broken := filepath.Join(dir, "broken.csv")
		if err := os.WriteFile(broken, []byte("path,e0\na.png,1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		for says, args := range map[string][]string{"no such file": {filepath.Join(dir, "none.png")}, "rows of 1 number": {"--from", broken}} {
			code, _, errs := vernier(t, append([]string{"index", run, "--out", index, "--force"}, args...)...)
			if after, err := os.ReadFile(index); code != cli.ExitFailed || !strings.Contains(errs, says) || err != nil || !bytes.Equal(after, before) {
				t.Errorf("%v: exit %d, %q, the index of before is there: %v", args, code, errs, bytes.Equal(after, before))
			}
		}
		anew := filepath.Join(dir, "anew.index")
		if err := os.WriteFile(anew, before, 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, errs := vernier(t, "index", run, "--out", anew, "--force", filepath.Join(images, "class 06"))
		if code != cli.ExitDone || !strings.Contains(out, "added 8 rows; it has 8 of 8 numbers") {
			t.Errorf("exit %d\n%s\n%s", code, out, errs)
		}
	})
	t.Run("check", func(t *testing.T) {
		if code, out, errs := vernier(t, "index", "--check", index); code != cli.ExitDone || !strings.Contains(out, "is whole: 96 rows of 8 numbers") {
			t.Errorf("exit %d\n%s\n%s", code, out, errs)
		}
		b, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		b[5000] ^= 1
		if err := os.WriteFile(index, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := vernier(t, "index", "--check", index); code != cli.ExitFailed || !strings.Contains(errs, "damaged") {
			t.Errorf("exit %d\n%s", code, errs)
		}
	})
}

func TestIndexAndSearchRefuseFlagsThatDoNotGoTogether(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"index"}, cli.ExitUsage, "RUN is missing"},
		{[]string{"index", missing, "a.png"}, cli.ExitUsage, "--out is missing"},
		{[]string{"index", missing, "--out", "x"}, cli.ExitUsage, "which images?"},
		{[]string{"index", missing, "--out", "x", "a.png", "--split", "test"}, cli.ExitUsage, "give one of them"},
		{[]string{"index", missing, "--out", "x", "--data", "glyphs", "--from", "y.npy"}, cli.ExitUsage, "give one of them"},
		{[]string{"index", missing, "--check", "x"}, cli.ExitUsage, "unexpected argument"},
		{[]string{"index", "--check", missing}, cli.ExitFailed, "missing"},
		{[]string{"index", missing, "--out", "x", "a.png"}, cli.ExitFailed, "there is no folder"},
		{[]string{"search"}, cli.ExitUsage, "RUN is missing"},
		{[]string{"search", missing}, cli.ExitUsage, "--query is missing"},
		{[]string{"search", missing, "--query", "a.png", "-k", "0"}, cli.ExitUsage, "want 1 to"},
		{[]string{"search", missing, "--query", "a.png", "--gallery", "x", "--data", "glyphs"}, cli.ExitUsage, "give one of them"},
		{[]string{"search", missing, "--query", "a.png"}, cli.ExitFailed, "there is no folder"},
		{[]string{"embed", missing, "a.png", "--format", "parquet"}, cli.ExitUsage, "--format parquet needs --out"},
		{[]string{"embed", missing, "a.png", "--format", "xls"}, cli.ExitUsage, "safetensors"},
		{[]string{"embed", missing, "a.png", "--out", "x.xyz"}, cli.ExitUsage, "ends in .parquet, .safetensors, .npz, .npy, .csv, .json"},
		{[]string{"embed", missing, "a.png", "--out", "rows"}, cli.ExitUsage, "or say with --format"},
		{[]string{"embed", missing, "a.png", "--out", "x.npy", "--format", "csv"}, cli.ExitUsage, "ends like a file of npy"},
		{[]string{"embed", missing, "a.png", "--out", "x.xyz", "--format", "csv"}, cli.ExitFailed, "there is no folder"},
		{[]string{"embed", missing, "a.png", "--out", "x.CSV"}, cli.ExitFailed, "there is no folder"},
	} {
		if code, _, errs := vernier(t, c.args...); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit %d, want %d with %q; it says\n%s", c.args, code, c.code, c.says, errs)
		}
	}
}
