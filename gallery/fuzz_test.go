package gallery

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
)

// allocated is how many bytes were allocated since the process began.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// bounded fails if reading took far more memory than there was to read.
func bounded(t *testing.T, size int, read func()) {
	t.Helper()
	before := allocated()
	read()
	if used := allocated() - before; used > 64<<20+64*uint64(size) {
		t.Fatalf("reading %d bytes took %d bytes of memory", size, used)
	}
}

// seal makes every checksum of a file right, so that what they guard is tried too.
func seal(b []byte) []byte {
	if len(b) < headerSize {
		return b
	}
	b = bytes.Clone(b)
	sum := checksum(b[:headerSum])
	binary.LittleEndian.PutUint32(b[headerSum:], sum)
	dim := uint64(4)
	last := sum
	for at := uint64(headerSize); at+blockHeaderSize <= uint64(len(b)); {
		h := b[at:][:blockHeaderSize]
		rows, length := binary.LittleEndian.Uint64(h[16:]), binary.LittleEndian.Uint64(h[24:])
		if length < blockHeaderSize || length > uint64(len(b))-at {
			break
		}
		if rows < length/(4*dim) && blockHeaderSize+4*dim*rows <= length {
			from := at + blockHeaderSize + 4*dim*rows
			binary.LittleEndian.PutUint32(h[32:], checksum(b[at+blockHeaderSize:from]))
			binary.LittleEndian.PutUint32(h[36:], checksum(b[from:at+length]))
		}
		binary.LittleEndian.PutUint32(h[40:], last)
		last = checksum(h[:60])
		binary.LittleEndian.PutUint32(h[60:], last)
		at += length
	}
	for _, at := range commitAt {
		c := b[at:][:commitSize]
		binary.LittleEndian.PutUint32(c[32:], last)
		binary.LittleEndian.PutUint32(c[56:], checksum(c[:56]))
	}
	return b
}

// FuzzIndex opens what the fuzzer made, checks and searches it, and appends to it.
func FuzzIndex(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed")
	for from := range 3 {
		if _, err := Append(path, testInfo, part(newTable(3, 4, 1), from, from+1)); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, true)
	}
	f.Add([]byte(magic), false)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			b = seal(b)
		}
		var x *Table
		var err error
		bounded(t, len(b), func() { x, err = readBytes(b) })
		if err != nil {
			return
		}
		if err := x.Validate(); err != nil {
			t.Fatalf("it was read, but %v", err)
		}
		query := &eval.Embeddings{X: make([]float32, x.H), N: 1, H: x.H}
		query.X[0] = 1
		hits, err := x.Search(t.Context(), reference.New(), query, x.Info(), 3, eval.SearchOptions{})
		if err == nil && len(hits[0]) != min(3, x.N) {
			t.Fatalf("%d hits in %d rows", len(hits[0]), x.N)
		}
		s := stateOf(t, b)
		m := &memory{bytes.Clone(b), 1 << 30}
		if err := s.append(m, adding(t, x)); err != nil {
			t.Fatal(err)
		}
		if y, err := readBytes(m.data); err != nil || y.N != 2*x.N {
			t.Fatalf("after an append: %v", err)
		}
	})
}

func TestIndexesThatClaimTooMuch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g")
	_, err := Append(path, testInfo, newTable(5, 4, 1))
	fatal(t, err)
	whole, err := os.ReadFile(path)
	fatal(t, err)
	s := stateOf(t, whole)
	// claim makes an index whose checksums agree, but for what change does.
	claim := func(dim string, change func(h *blockHeader, c *commit)) []byte {
		b := bytes.Clone(whole)
		text := []byte(`{"metric":"euclidean","model":"00ff","dim":` + dim + `}`)
		binary.LittleEndian.PutUint32(b[len(magic):], uint32(len(text)))
		copy(b[infoAt:headerSum], append(text, make([]byte, 100)...))
		sum := checksum(b[:headerSum])
		binary.LittleEndian.PutUint32(b[headerSum:], sum)
		h, c := s.list[0].blockHeader, s.commit
		h.previous = sum
		change(&h, &c)
		copy(b[headerSize:], h.encode())
		c.chain = checksum(h.encode()[:60])
		for _, at := range commitAt {
			copy(b[at:], c.encode())
		}
		return b
	}
	as := func(*blockHeader, *commit) {}
	if _, err := readBytes(claim("4", as)); err != nil {
		t.Fatalf("the index itself: %v", err)
	}
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"2^62 numbers":       {claim("4611686018427387904", as), "a dimension from 1 to"},
		"2^63-1 numbers":     {claim("9223372036854775807", as), "a dimension from 1 to"},
		"2^63 numbers":       {claim("9223372036854775808", as), "cannot unmarshal"},
		"-1 numbers":         {claim("-1", as), "a dimension from 1 to"},
		"2^24 numbers":       {claim("16777216", as), "a block of 5 rows has"},
		"2^62 rows":          {claim("4", func(h *blockHeader, _ *commit) { h.rows = 1 << 62 }), "rows has"},
		"more rows":          {claim("4", func(h *blockHeader, _ *commit) { h.rows = 500 }), "a block of 500 rows has"},
		"a long block":       {claim("4", func(h *blockHeader, _ *commit) { h.length = 1 << 62 }), "rows has"},
		"a negative block":   {claim("4", func(h *blockHeader, _ *commit) { h.length = -64 }), "rows has"},
		"no block":           {claim("4", func(h *blockHeader, _ *commit) { h.length = 0 }), "rows has"},
		"another number":     {claim("4", func(h *blockHeader, _ *commit) { h.number = 7 }), "does not belong"},
		"rows of the commit": {claim("4", func(_ *blockHeader, c *commit) { c.rows = 6 }), "should hold 6"},
		"end of the commit":  {claim("4", func(_ *blockHeader, c *commit) { c.end = 1 << 62 }), "it is cut short"},
		"a negative end":     {claim("4", func(_ *blockHeader, c *commit) { c.end = -64 }), "neither of its commits"},
	} {
		bounded(t, len(c.file), func() {
			if _, err := readBytes(c.file); err == nil || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", name, err, c.says)
			}
		})
	}
	// NaN in a row is what no append writes.
	table := newTable(5, 4, 1)
	table.X[9] = float32(nan())
	m := &memory{bytes.Clone(whole), 1 << 20}
	fatal(t, s.append(m, adding(t, table)))
	if _, err := readBytes(m.data); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "row 7 holds NaN in coordinate 1") {
		t.Errorf("NaN: %v", err)
	}
}

// FuzzParquet reads what the fuzzer made of files that Write wrote.
func FuzzParquet(f *testing.F) {
	path := filepath.Join(f.TempDir(), "x.parquet")
	for _, table := range []*Table{newTable(3, 2, 1), {Embeddings: newRows(2, 1, 2)}} {
		if err := Write(path, table); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x.parquet")
		fatal(t, os.WriteFile(path, b, 0o644))
		bounded(t, len(b), func() {
			if x, err := Read(path); err == nil && x.Validate() != nil {
				t.Fatal(x.Validate())
			}
		})
	})
}
