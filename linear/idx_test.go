package linear

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzReadIDX bounds what the reader takes by the input: a header may claim 2^30
// bytes.
func FuzzReadIDX(f *testing.F) {
	f.Add([]byte{0, 0, 8, 1, 0, 0, 0, 2, 5, 6})
	f.Add([]byte{0, 0, 8, 1, 0, 255, 255, 255, 5, 6})
	f.Add([]byte("\x1f\x8b"))
	path := filepath.Join(f.TempDir(), "x-ubyte")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		shape, data, err := readIDX(path, 1)
		if err == nil && (len(shape) != 1 || shape[0] != len(data)) {
			t.Fatalf("%v of %d bytes", shape, len(data))
		}
	})
}
