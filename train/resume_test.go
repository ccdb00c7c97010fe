package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func resume(t *testing.T, s *Session) (*Session, error) {
	t.Helper()
	return Resume(context.Background(), s.folder, newTestEngine(t), s.opt)
}

func TestTwoProcessesDoNotWorkInOneFolder(t *testing.T) {
	s := begin(t, smallConfig(t, shades(t, 8, 4)))
	if _, err := resume(t, s); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want %v", err, ErrBusy)
	}
	// Nor does a new run take a folder from one that is at work in it.
	if _, err := Start(context.Background(), s.cfg, s.folder, newTestEngine(t), s.opt); !errors.Is(err, ErrBusy) {
		t.Errorf("a new run: got %v, want %v", err, ErrBusy)
	}
	for _, name := range []string{ConfigFile, CheckpointFile, LastFile, lockFile} {
		if _, err := os.Stat(s.folder.Path(name)); err != nil {
			t.Errorf("the run at work lost a file: %v", err)
		}
	}
	s.unlock() // as if the process had ended
	r, err := resume(t, s)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
}

func TestARunDoesNotGoOnWithOtherImages(t *testing.T) {
	images := shades(t, 8, 4)
	s := begin(t, smallConfig(t, images))
	s.unlock()
	files, err := filepath.Glob(filepath.Join(images, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(t, s); err == nil || !strings.Contains(err.Error(), "not those that the run began with") {
		t.Errorf("an image went: got %v", err)
	}
}

func TestADamagedCheckpointIsNoticed(t *testing.T) {
	s := begin(t, smallConfig(t, shades(t, 8, 4)))
	s.unlock()
	path := s.folder.Path(CheckpointFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-5] ^= 0x10
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(t, s); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
}

func TestAFewClassesGiveASmallerBatchAndNoValidation(t *testing.T) {
	c := smallConfig(t, shades(t, 6, 4)) // three for training
	c.Data.Validation, c.ClassesPerBatch = .3, 24
	s := begin(t, c)
	if s.sets.validation != nil || s.cfg.ClassesPerBatch != 3 {
		t.Errorf("validation %v, %d classes a batch, want none and 3", s.sets.validation, s.cfg.ClassesPerBatch)
	}
	stored, err := s.folder.LoadConfig()
	if err != nil || stored.ClassesPerBatch != 3 {
		t.Errorf("the stored configuration has %d classes a batch, %v", stored.ClassesPerBatch, err)
	}
}
