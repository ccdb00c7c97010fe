package gallery

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// prepared is an index that rows may be added to.
func prepared(t *testing.T, path string) *Prepared {
	t.Helper()
	p, err := Prepare(path, testInfo)
	fatal(t, err)
	return p
}

// TestWhatOthersAppendMeanwhileIsSeen: between Prepare and AppendNew other processes
// append, make the index, or put another in its place.
func TestWhatOthersAppendMeanwhileIsSeen(t *testing.T) {
	all := newTable(12, 4, 6)
	appendRows := func(path string, from, to int) {
		_, err := Append(path, testInfo, part(all, from, to))
		fatal(t, err)
	}
	for name, c := range map[string]struct {
		before    int // rows of the index that is prepared
		meanwhile func(path string)
		added     int // of rows 2 to 7
		want      []int
	}{
		"nothing happens":         {4, func(string) {}, 4, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		"rows are appended":       {4, func(path string) { appendRows(path, 4, 6) }, 2, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		"the index is made":       {0, func(path string) { appendRows(path, 0, 4) }, 4, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		"another takes its place": {4, func(path string) { fatal(t, Create(path, testInfo, part(all, 6, 10))) }, 4, []int{6, 7, 8, 9, 2, 3, 4, 5}},
		"a shorter one does": {4, func(path string) {
			appendRows(path, 4, 6)
			fatal(t, os.Remove(path))
			appendRows(path, 2, 3)
		}, 5, []int{2, 3, 4, 5, 6, 7}},
	} {
		path := filepath.Join(t.TempDir(), "g")
		if c.before > 0 {
			appendRows(path, 0, c.before)
		}
		p := prepared(t, path)
		c.meanwhile(path)
		added, rows, err := p.AppendNew(part(all, 2, 8))
		if err != nil || added != c.added || rows != len(c.want) {
			t.Errorf("%s: %d added, %d rows, %v; want %d and %d", name, added, rows, err, c.added, len(c.want))
			continue
		}
		wantRows(t, opened(t, path), all.Select(c.want), len(c.want))
	}
}

func TestPrepareAndCheckReadEveryByte(t *testing.T) {
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
			if _, err := Prepare(path, testInfo); err == nil {
				t.Fatalf("byte %d is damaged, and Prepare says nothing", at)
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
	if _, err := Prepare(path, Info{"euclidean", "00fe", 4}); !errors.Is(err, ErrOtherModel) {
		t.Errorf("%v, want another model", err)
	}
	if _, err := Prepare(path, testInfo); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, want damage", err)
	}
}
