package train

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

func resumeFrom(t *testing.T, folder run.Folder, from string) (*Session, error) {
	t.Helper()
	return Resume(context.Background(), folder, newTestEngine(t), Options{Workers: 1, Events: silent{}, From: from})
}

func contents(t *testing.T, folder run.Folder) map[string]string {
	t.Helper()
	files, err := filepath.Glob(folder.Path("*"))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list[file] = string(text)
	}
	return list
}

// A run that lost its latest checkpoint is not one that has none yet.
func TestARunWithoutItsLatestCheckpointIsNotBegunAnew(t *testing.T) {
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	s := runTo(t, longer(t), folder, run.Output{Keep: 2}, 3)
	s.Close()
	if err := os.Remove(folder.Path(run.CheckpointFile)); err != nil {
		t.Fatal(err)
	}
	before := contents(t, folder)
	_, err := resumeFrom(t, folder, "")
	if err == nil || !strings.Contains(err.Error(), "with the option from best, or 2, or 3") {
		t.Errorf("got %v", err)
	}
	for name, text := range contents(t, folder) {
		if before[name] != text {
			t.Errorf("%s changed", name)
		}
	}
	r, err := resumeFrom(t, folder, "3")
	if err != nil || r.state.Position.Epoch != 3 {
		t.Fatalf("from 3: %v", err)
	}
	r.Close()
	// Nor is one that has nothing left but its model.
	if err := os.Remove(folder.Path(run.CheckpointFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(folder.Path(run.BestCheckpointFile)); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 3} {
		if err := os.Remove(folder.Path(run.EpochCheckpoint(n))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := resumeFrom(t, folder, ""); err == nil || !strings.Contains(err.Error(), "there is no other checkpoint") {
		t.Errorf("only a model is left: got %v", err)
	}
}

func TestADamagedCheckpointIsNamedWithTheOthers(t *testing.T) {
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	s := runTo(t, longer(t), folder, run.Output{Keep: 2}, 3)
	s.Close()
	path := folder.Path(run.CheckpointFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int) []byte {
		b := bytes.Clone(text)
		b[at] ^= 1
		return b
	}
	if err := os.Remove(path); err != nil { // the other names share its file
		t.Fatal(err)
	}
	for name, spoilt := range map[string][]byte{
		"cut short": text[:len(text)/2], "empty": {}, "a number": flip(len(text) - 5), "the length of the head": flip(2),
		"the name of the settings": flip(bytes.Index(text, []byte(run.ConfigKey)) + 3), "the state": flip(bytes.Index(text, []byte(`best_epoch\":`)) + 13),
	} {
		if err := os.WriteFile(path, spoilt, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := resumeFrom(t, folder, "")
		if err == nil || !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), run.CheckpointFile) || !strings.Contains(err.Error(), "with the option from best, or 2, or 3") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestADamagedModelIsNotUsed(t *testing.T) {
	s := begin(t, smallConfig(t, shades(t, 8, 4)))
	path := s.folder.Path(run.BestFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-6] ^= 0x10
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.folder.LoadModel(newTestEngine(t), run.Best); err == nil || !strings.Contains(err.Error(), run.BestFile+" is damaged") {
		t.Errorf("got %v", err)
	}
	if _, _, err := s.folder.LoadModel(newTestEngine(t), run.Last); err != nil {
		t.Errorf("the whole one: %v", err)
	}
}
