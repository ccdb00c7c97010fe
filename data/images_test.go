package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenImagesTakesFilesAndFolders(t *testing.T) {
	dir := t.TempDir()
	put := func(name string) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		picture, err := os.ReadFile("transform/testdata/golden/images/files/gray.png")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, picture, 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	loose := put("no extension")
	put("folder/10.png")
	put("folder/9.png")
	put("folder/deep/1.png")
	put("folder/._9.png")
	put("folder/notes.txt")
	set, err := OpenImages(t.Context(), []string{filepath.Join(dir, "folder"), loose}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var got []string
	for i, it := range set.Items {
		got = append(got, strings.TrimPrefix(it.Path, dir+"/"))
		if _, err := set.Load(t.Context(), i); err != nil {
			t.Errorf("item %d: %v", i, err)
		}
	}
	if want := "folder/9.png folder/10.png folder/deep/1.png no extension"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOpenImagesNamesWhatIsMissing(t *testing.T) {
	if _, err := OpenImages(t.Context(), []string{"nowhere.jpg"}, Options{}); err == nil || !strings.Contains(err.Error(), "nowhere.jpg") {
		t.Errorf("got %v", err)
	}
	empty := t.TempDir()
	if _, err := OpenImages(t.Context(), []string{empty}, Options{}); err == nil || !strings.Contains(err.Error(), empty) {
		t.Errorf("got %v", err)
	}
}
