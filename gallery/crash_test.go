package gallery

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// memory is a file of which only a number of bytes is written before the power
// fails.
type memory struct {
	data []byte
	left int
}

var errPower = errors.New("the power failed")

func (m *memory) WriteAt(b []byte, at int64) (int, error) {
	if m.left <= 0 && len(b) > 0 {
		return 0, errPower
	}
	n := min(len(b), m.left)
	if grow := int(at) + n - len(m.data); grow > 0 {
		m.data = append(m.data, make([]byte, grow)...)
	}
	copy(m.data[at:], b[:n])
	if m.left -= n; n < len(b) {
		return n, errPower
	}
	return n, nil
}

func (m *memory) Truncate(size int64) error {
	if m.left <= 0 {
		return errPower
	}
	m.data = m.data[:size]
	return nil
}

func (m *memory) Sync() error { return nil }

// adding is the change that adds rows.
func adding(t *testing.T, rows *Table) change {
	t.Helper()
	rows, _, err := Distinct(rows)
	fatal(t, err)
	return change{add: rows}
}

func stateOf(t *testing.T, b []byte) *state {
	t.Helper()
	s, err := readState(bytes.NewReader(b), int64(len(b)))
	fatal(t, err)
	return s
}

// TestAnAppendThatIsCutAnywhereLeavesTheIndexWhole stops the writing after
// every number of bytes. The index has its old rows, or all; and the next append
// goes well, which is cut in the same ways.
func TestAnAppendThatIsCutAnywhereLeavesTheIndexWhole(t *testing.T) {
	all := newTable(12, 4, 3)
	path := filepath.Join(t.TempDir(), "g")
	for _, to := range []int{3, 5} {
		_, err := Append(path, testInfo, part(all, map[int]int{3: 0, 5: 3}[to], to))
		fatal(t, err)
	}
	before, err := os.ReadFile(path)
	fatal(t, err)
	// cut appends rows up to to, stopped after n bytes, and returns the file.
	cut := func(file []byte, to, n int) []byte {
		m := &memory{bytes.Clone(file), n}
		s := stateOf(t, file)
		if err := s.append(m, adding(t, part(all, int(s.rows), to))); err != nil && !errors.Is(err, errPower) {
			t.Fatal(err)
		}
		return m.data
	}
	h, _, err := newBlock(adding(t, part(all, 5, 8)), stateOf(t, before).commit)
	fatal(t, err)
	length := int(h.length)
	for n := 0; n <= length+2*commitSize; n++ {
		if n > 80 && n < length-8 && n%16 != 0 {
			continue // amid the block
		}
		once := cut(before, 8, n)
		rows := int(stateOf(t, once).rows)
		// The last bytes of a commit that are as they were need not be written.
		if want := 5; n < length+1 && rows != want || n >= length+commitSize && rows != 8 || rows != 5 && rows != 8 {
			t.Fatalf("cut after %d of %d bytes: %d rows", n, length, rows)
		}
		for _, again := range []int{1, 63, 64, 65, 100, 128, 129, 200, 300, length + 127, length + 129, length + 200, 1000} {
			twice := cut(once, rows+3, again)
			x, err := stateOf(t, twice).read(bytes.NewReader(twice))
			if err != nil || x.N != rows && x.N != rows+3 {
				t.Fatalf("cut after %d and %d bytes: %v", n, again, err)
			}
			wantRows(t, x, all, x.N)
		}
		fatal(t, os.WriteFile(path, once, 0o644))
		_, err = Append(path, testInfo, part(all, rows, 12))
		fatal(t, err)
		wantRows(t, opened(t, path), all, 12)
	}
}

// readBytes is Open of a file in memory.
func readBytes(b []byte) (*Table, error) {
	s, err := readState(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	return s.read(bytes.NewReader(b))
}

// TestDamageIsFoundWhereverItIs changes every bit of the commits and one of every
// other byte, and cuts the file. Nobody reads such an index, and unless only rows are
// damaged, nobody writes to it.
func TestDamageIsFoundWhereverItIs(t *testing.T) {
	all := newTable(9, 4, 3)
	path := filepath.Join(t.TempDir(), "g")
	for from := 0; from < 9; from += 3 {
		_, err := Append(path, testInfo, part(all, from, from+3))
		fatal(t, err)
	}
	whole, err := os.ReadFile(path)
	fatal(t, err)
	check := func(what string, at int, damaged []byte, onDisk, rows bool) {
		t.Helper()
		if _, err := readBytes(damaged); err == nil || at >= len(magic) && !errors.Is(err, ErrDamaged) {
			t.Fatalf("%s %d: %v", what, at, err)
		}
		if !onDisk {
			return
		}
		fatal(t, os.WriteFile(path, damaged, 0o644))
		if _, err := Open(path); err == nil || !strings.HasPrefix(err.Error(), path) {
			t.Fatalf("%s %d: Open says %v", what, at, err)
		}
		if rows {
			return
		}
		if _, err := Append(path, testInfo, part(all, 0, 1)); err == nil || !strings.HasPrefix(err.Error(), path) {
			t.Fatalf("%s %d: Append says %v", what, at, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
			t.Fatalf("%s %d: the file was changed (%v)", what, at, err)
		}
	}
	s := stateOf(t, whole)
	inBody := func(at int) bool {
		for _, b := range s.list {
			if from := int(b.at) + blockHeaderSize; at >= from && at < from+int(b.length)-blockHeaderSize {
				return true
			}
		}
		return false
	}
	for at := range whole {
		bits := []int{at % 8}
		commit := at >= int(commitAt[0]) && at < headerSize && at%sectorSize < commitSize
		if commit {
			bits = []int{0, 1, 2, 3, 4, 5, 6, 7}
		}
		for _, bit := range bits {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 1 << bit
			check("a bit of byte", at, damaged, commit && bit == at%8 || at%61 == 0, inBody(at))
		}
	}
	for n := range whole {
		check("a cut after byte", n, whole[:n], n%61 == 0 || n == len(whole)-1, false)
	}
}

// TestAnOldCommitIsNotTakenForTheNewest puts back what a sector held before.
func TestAnOldCommitIsNotTakenForTheNewest(t *testing.T) {
	all := newTable(9, 4, 3)
	path := filepath.Join(t.TempDir(), "g")
	var files [][]byte
	for from := 0; from < 9; from += 3 {
		_, err := Append(path, testInfo, part(all, from, from+3))
		fatal(t, err)
		b, err := os.ReadFile(path)
		fatal(t, err)
		files = append(files, b)
	}
	for i := range 2 {
		for k, at := range commitAt {
			var want error
			if i == 0 || k == 0 {
				want = ErrDamaged
			}
			b := bytes.Clone(files[2])
			copy(b[at:at+commitSize], files[i][at:])
			fatal(t, os.WriteFile(path, b, 0o644))
			x, err := Open(path)
			if !errors.Is(err, want) {
				t.Errorf("commit %d is the one of %d appends: %v, want %v", k, i+1, err, want)
			}
			if err == nil { // as if the third append had been interrupted: its rows are whole
				wantRows(t, x, all, 9)
			}
		}
	}
}
