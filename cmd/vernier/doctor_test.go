package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda"
)

func TestDoctorTellsWhatTheFoldersOfLibrariesHave(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	t.Setenv(cuda.PathVariable, gone)
	code, out, errs := vernier(t, "doctor")
	if code != exitDone || !strings.Contains(out, cuda.PathVariable+" has "+gone+": there is no such folder") || !strings.Contains(out, "take it out") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}
