package gallery

import (
	"fmt"
	"os"
	"sort"

	"github.com/edsrzf/mmap-go"
)

// Index is an open gallery. It shows the rows that there were when it was
// opened, whatever is appended meanwhile. Its methods may be called
// concurrently, except Close.
type Index struct {
	Info
	path     string
	mapping  mmap.MMap
	segments []*segment
	rows     int
}

// Open maps an index into memory.
func Open(path string) (*Index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := openFile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	x.path = path
	return x, nil
}

func openFile(f *os.File) (*Index, error) {
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	info, c, err := readHeader(f, stat.Size())
	if err != nil {
		return nil, err
	}
	x := &Index{Info: info}
	if x.mapping, err = mmap.MapRegion(f, int(c.end), mmap.RDONLY, 0, 0); err != nil {
		return nil, fmt.Errorf("mapping it into memory: %w", err)
	}
	if err := x.read(c); err != nil {
		x.Close()
		return nil, fmt.Errorf("damaged index: %w", err)
	}
	return x, nil
}

// read finds the segments.
func (x *Index) read(c commit) error {
	for at := int64(headerSize); at < c.end; {
		s, length, err := decodeSegment(x.mapping[at:], x.Dim, x.rows)
		if err != nil {
			return fmt.Errorf("at byte %d: %w", at, err)
		}
		x.segments = append(x.segments, s)
		x.rows += s.N
		at += length
	}
	if uint64(x.rows) != c.rows || uint64(len(x.segments)) != c.segments {
		return fmt.Errorf("it holds %d rows in %d segments, but should hold %d in %d", x.rows, len(x.segments), c.rows, c.segments)
	}
	return nil
}

// Close ends the use of the index and of all its rows.
func (x *Index) Close() error {
	m := x.mapping
	x.mapping, x.segments = nil, nil
	if m == nil {
		return nil
	}
	return m.Unmap()
}

// Rows is the number of rows.
func (x *Index) Rows() int { return x.rows }

// at finds the segment of row i and the row in it.
func (x *Index) at(i int) (*segment, int) {
	k := sort.Search(len(x.segments), func(k int) bool { return x.segments[k].first > i }) - 1
	s := x.segments[k]
	return s, i - s.first
}

// Row returns row i, which lies in the file and must not be changed.
func (x *Index) Row(i int) []float32 {
	s, r := x.at(i)
	return s.Row(r)
}

// Path returns the path of the image of row i.
func (x *Index) Path(i int) string {
	s, r := x.at(i)
	return s.text(2 * r)
}

// Class returns the class of row i, empty if it is not known.
func (x *Index) Class(i int) string {
	s, r := x.at(i)
	return s.text(2*r + 1)
}

// Check reads everything and compares it with its checksums.
func (x *Index) Check() error {
	for _, s := range x.segments {
		if checksum(s.body) != s.sum {
			return fmt.Errorf("%s: rows %d to %d are damaged: their checksum does not agree", x.path, s.first, s.first+s.N-1)
		}
	}
	return nil
}
