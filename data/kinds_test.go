package data

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every kind of data set, a new one too, is described, and says where it looked when
// what it reads is missing, empty or something else.
func TestEveryKindRefusesWhatIsNoneOfIt(t *testing.T) {
	dir := t.TempDir()
	empty, noise := filepath.Join(dir, "empty"), filepath.Join(dir, "noise")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(noise, bytes.Repeat([]byte("\x93noise\n,"), 500), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, k := range openers() {
		if k.Kind == "" || k.Summary == "" || k.Usage != k.Kind && !strings.HasPrefix(k.Usage, k.Kind+":") {
			t.Errorf("kind %q: usage %q, summary %q", k.Kind, k.Usage, k.Summary)
		}
		if k.Usage == k.Kind {
			report, err := Check(context.Background(), k.Kind, CheckOptions{})
			if err != nil || !report.OK() {
				t.Errorf("%s, which is built in: %v, %+v", k.Kind, err, report)
			}
			continue
		}
		for _, path := range []string{filepath.Join(dir, "missing"), empty, noise} {
			_, err := Open(context.Background(), k.Kind+":"+path, Options{})
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s:%s: %v, want an error that names the path", k.Kind, path, err)
			}
		}
	}
}
