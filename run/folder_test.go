package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClaimRefusesWhatIsThereAndForceRemovesARunOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "run")
	f, err := Claim(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is made before the run begins: %v", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(dir, false); err != nil {
		t.Errorf("an empty folder is refused: %v", err)
	}
	if err := f.SaveConfig(Default("glyphs")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{LogFile, "notes.txt"} {
		if err := os.WriteFile(f.Path(name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Claim(dir, false); !errors.Is(err, ErrExists) {
		t.Errorf("got %v, want %v", err, ErrExists)
	}
	if _, err := Claim(dir, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Path(LogFile)); err != nil {
		t.Errorf("the old run is touched before the new one begins: %v", err)
	}
	if err := f.Abandon(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Path(LogFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old log is still there: %v", err)
	}
	if _, err := os.Stat(f.Path("notes.txt")); err != nil {
		t.Errorf("a file that is not of the run is gone: %v", err)
	}
	if _, err := Claim(dir, true); !errors.Is(err, ErrExists) {
		t.Errorf("a folder without a run is overwritten: %v", err)
	}
	if _, err := Claim(f.Path("notes.txt"), true); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("a file as folder: %v", err)
	}
}

func TestConfigRoundTripsAndUnknownKeysAreErrors(t *testing.T) {
	f := Folder(t.TempDir())
	want := Default("glyphs")
	want.Loss.Params = map[string]string{"temperature": "8"}
	if err := f.SaveConfig(want); err != nil {
		t.Fatal(err)
	}
	got, err := f.LoadConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if got.Model != want.Model || got.Loss.Params["temperature"] != "8" || got.Data != want.Data || got.Optimizer != want.Optimizer {
		t.Errorf("got %+v, want %+v", got, want)
	}
	text, err := os.ReadFile(f.Path(ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	strange := strings.Replace(string(text), `"epochs"`, `"epoch_count"`, 1)
	if err := os.WriteFile(f.Path(ConfigFile), []byte(strange), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.LoadConfig(); err == nil || !strings.Contains(err.Error(), "epoch_count") {
		t.Errorf("an unknown key: got %v", err)
	}
}
