package train

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
)

// A run continues from another place of its images to exactly where it would have come,
// and its folder names the new one.
func TestARunGoesOnWhereItsImagesWereMoved(t *testing.T) {
	images := shades(t, 8, 4)
	c := smallConfig(t, images)
	c.WarmupEpochs, c.Data.Augment = 0, "photos"
	straight, s := begin(t, c), begin(t, c)
	if err := straight.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	epoch(t, s)
	s.Close()
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(moved, os.DirFS(images)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(images); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(t, s); err == nil || !strings.Contains(err.Error(), "say where they are with data.spec") {
		t.Errorf("without the new place: got %v", err)
	}
	s.opt.Given = settingsFrom(t, "data: {spec: 'folder:"+moved+"'}")
	continueTo(t, s, all(t, straight))
	for _, from := range []string{"the new place is given", "the folder knows it"} {
		stored, err := s.folder.LoadConfig()
		if err != nil || stored.Data.Spec != "folder:"+moved {
			t.Errorf("%s: stored %s, %v", from, stored.Data.Spec, err)
		}
		s.opt.Given = nil
		continueTo(t, s, all(t, straight))
	}
}

func TestARunDoesNotGoOnWithOtherImagesElsewhere(t *testing.T) {
	images := shades(t, 8, 4)
	s := begin(t, smallConfig(t, images))
	s.Close()
	other := filepath.Join(t.TempDir(), "other")
	if err := os.CopyFS(other, os.DirFS(images)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(other, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	s.opt.Given = settingsFrom(t, "data: {spec: 'folder:"+other+"'}")
	if _, err := resume(t, s); err == nil || !strings.Contains(err.Error(), "the images of folder:"+other+" are not those that the run began with") {
		t.Errorf("got %v", err)
	}
	if stored, err := s.folder.LoadConfig(); err != nil || stored.Data.Spec != "folder:"+images {
		t.Errorf("stored %s, %v", stored.Data.Spec, err)
	}
}

func TestOnlyPlacesOfTheSameDataMayChange(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.pth": "weights", "b.pth": "weights", "c.pth": "others"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored := run.Default("folder:/a")
	stored.Weights.Path = filepath.Join(dir, "a.pth")
	stored.Weights.SHA256 = "unknown"
	for _, c := range []struct {
		yaml, sum, spec, weights string
		same                     bool // nothing is left that differs
	}{
		{"data: {spec: 'folder:/b'}", "", "folder:/b", "a.pth", true},
		{"data: {spec: 'csv:/b'}", "", "folder:/a", "a.pth", false},
		{"weights: {path: " + filepath.Join(dir, "b.pth") + "}", "a.pth", "folder:/a", "b.pth", true},
		{"weights: {path: " + filepath.Join(dir, "c.pth") + "}", "a.pth", "folder:/a", "a.pth", false},
		{"{data: {spec: 'folder:/b'}, optimizer: {rate: 7}}", "", "folder:/b", "a.pth", false},
	} {
		if c.sum != "" {
			sum, err := wholefile.Digest(filepath.Join(dir, c.sum))
			if err != nil {
				t.Fatal(err)
			}
			stored.Weights.SHA256 = sum
		}
		given := settingsFrom(t, c.yaml)
		moved, err := given.Moved(stored)
		if err != nil {
			t.Fatalf("%s: %v", c.yaml, err)
		}
		if moved.Data.Spec != c.spec || filepath.Base(moved.Weights.Path) != c.weights {
			t.Errorf("%s: images in %s, weights in %s", c.yaml, moved.Data.Spec, moved.Weights.Path)
		}
		if diff, err := given.Differences(moved); err != nil || (len(diff) == 0) != c.same {
			t.Errorf("%s: differences %v, %v", c.yaml, diff, err)
		}
	}
}

func settingsFrom(t *testing.T, yaml string, more ...run.Setting) *run.Settings {
	t.Helper()
	s := &run.Settings{}
	if err := s.AddYAML("test.yaml", []byte(yaml)); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(more...); err != nil {
		t.Fatal(err)
	}
	return s
}
