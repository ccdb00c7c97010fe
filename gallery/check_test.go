package gallery

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOpenFileAndCheckReadEveryByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g")
	for from := range 3 {
		_, err := Append(path, testInfo, part(newTable(6, 4, 6), 2*from, 2*from+2))
		fatal(t, err)
	}
	if info, rows, err := Check(path); err != nil || rows != 6 || info != testInfo {
		t.Errorf("%d rows of %+v (%v), want 6 of %+v", rows, info, err, testInfo)
	}
	whole, err := os.ReadFile(path)
	fatal(t, err)
	for at := range whole {
		if at >= headerSize || at%64 == 0 {
			whole[at] ^= 4
			fatal(t, os.WriteFile(path, whole, 0o644))
			whole[at] ^= 4
			if _, err := OpenFile(path, testInfo, nil); err == nil {
				t.Fatalf("byte %d is damaged, and OpenFile says nothing", at)
			}
			if _, _, err := Check(path); err == nil {
				t.Fatalf("byte %d is damaged, and Check says nothing", at)
			}
		}
	}
}

// TestTheHeaderTellsAnotherModel: an index of another model is refused before its rows
// are read, whatever their state.
func TestTheHeaderTellsAnotherModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g")
	_, err := Append(path, testInfo, newTable(6, 4, 6))
	fatal(t, err)
	b, err := os.ReadFile(path)
	fatal(t, err)
	b[headerSize+blockHeaderSize] ^= 1 // the first row
	fatal(t, os.WriteFile(path, b, 0o644))
	if _, err := OpenFile(path, Info{"euclidean", "00fe", 4}, nil); !errors.Is(err, ErrOtherModel) {
		t.Errorf("%v, want another model", err)
	}
	if _, err := OpenFile(path, testInfo, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, want damage", err)
	}
}
