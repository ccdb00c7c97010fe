package train

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

func TestLinesBeyondTheCheckpointAndHalfLinesAreDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, []byte("{\"event\":\"step\",\"step\":7}\n{\"event\":\"step\",\"step\":8}\n{\"event\":\"st"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := openLog(path, 7)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.write(run.EpochRecord{Event: "epoch", Epoch: 3}); err != nil {
		t.Fatal(err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2:\n%s", len(lines), text)
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not an object: %s", line)
		}
	}
}

// recordsOf reads the records of one event from a run's log.
func recordsOf[R any](t *testing.T, folder run.Folder, event string, of func(R) string) (list []R) {
	t.Helper()
	f, err := os.Open(folder.Path(run.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var r R
		if json.Unmarshal(in.Bytes(), &r) == nil && of(r) == event {
			list = append(list, r)
		}
	}
	return list
}
