package gallery

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/vernier-ml/vernier/eval"
)

// An index is one file, little-endian:
//
//	0      magic; length and checksum of the Info; the Info as JSON
//	3072   commit 0
//	3584   commit 1
//	4096   segments, one after another
//
// A commit says how many segments there are and where they end; the valid one
// of the higher number counts. Appending writes a segment behind that end, syncs,
// and then writes the other commit: until that is whole the old one holds, and
// what lies behind its end is nothing.
//
// A segment is its header, its rows as float32, the places of its texts (path and
// class of every row: 2n+1 offsets of 8 bytes), and the texts. It begins at
// a multiple of 64 bytes, and so do its rows.
const (
	magic         = "vernier gallery\x01"
	infoAt        = len(magic) + 8
	headerSize    = 4096
	commitSize    = 36
	segmentHeader = 64
	alignment     = 64
)

// commitAt are the places of the commits: in different sectors of a disk, so
// that a torn write harms one.
var commitAt = [2]int64{3072, 3584}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crcTable) }

// Info says whose rows an index holds.
type Info struct {
	Metric string `json:"metric"` // in the form of metric.Parse
	Model  string `json:"model"`  // its fingerprint
	Dim    int    `json:"dim"`    // numbers of a row
}

func (i Info) validate() error {
	if i.Metric == "" || i.Model == "" || i.Dim < 1 {
		return fmt.Errorf("an index needs a metric, the fingerprint of a model and a dimension: got %q, %q and %d", i.Metric, i.Model, i.Dim)
	}
	return nil
}

// ErrOtherModel says that a gallery holds the rows of another model.
var ErrOtherModel = errors.New("these are embeddings of another model")

// Same compares an index with what is to be added or searched: the error is
// ErrOtherModel if they do not go together.
func (i Info) Same(o Info) error {
	switch {
	case i.Dim != o.Dim:
		return fmt.Errorf("%w: of %d numbers, here they have %d", ErrOtherModel, i.Dim, o.Dim)
	case i.Metric != o.Metric:
		return fmt.Errorf("%w: compared by %s, here by %s", ErrOtherModel, i.Metric, o.Metric)
	case i.Model != o.Model:
		return fmt.Errorf("%w: of fingerprint %.12s…, here it is %.12s…", ErrOtherModel, i.Model, o.Model)
	}
	return nil
}

// commit is a state of an index.
type commit struct {
	number, rows, segments uint64
	end                    int64
}

func (c commit) encode() []byte {
	b := make([]byte, commitSize)
	for i, v := range []uint64{c.number, c.rows, c.segments, uint64(c.end)} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	binary.LittleEndian.PutUint32(b[32:], checksum(b[:32]))
	return b
}

// at is where a commit is written: not over the one before.
func (c commit) at() int64 { return commitAt[c.number%2] }

func decodeCommit(b []byte) (c commit, ok bool) {
	if binary.LittleEndian.Uint32(b[32:]) != checksum(b[:32]) {
		return c, false
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	c = commit{at(0), at(1), at(2), int64(at(3))}
	return c, c.end >= headerSize && c.end%alignment == 0 && c.rows <= math.MaxInt32
}

// encodeHeader is the header of an index, without a commit.
func encodeHeader(info Info) ([]byte, error) {
	text, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	b := make([]byte, headerSize)
	if int64(infoAt+len(text)) > commitAt[0] {
		return nil, fmt.Errorf("metric and fingerprint of an index are too long: %d bytes", len(text))
	}
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[len(magic):], uint32(len(text)))
	binary.LittleEndian.PutUint32(b[len(magic)+4:], checksum(text))
	copy(b[infoAt:], text)
	return b, nil
}

// readHeader reads the state of an index of size bytes, and the number of the
// commit that holds it.
func readHeader(r io.ReaderAt, size int64) (info Info, c commit, err error) {
	b := make([]byte, headerSize)
	if n, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return info, c, err
	} else if n < headerSize || string(b[:len(magic)]) != magic {
		return info, c, errors.New("this is no index of a gallery")
	}
	length := binary.LittleEndian.Uint32(b[len(magic):])
	if int64(length) > commitAt[0]-int64(infoAt) {
		return info, c, errors.New("damaged index: its header is too long")
	}
	text := b[infoAt : infoAt+int(length)]
	if binary.LittleEndian.Uint32(b[len(magic)+4:]) != checksum(text) {
		return info, c, errors.New("damaged index: the checksum of its header does not agree")
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return info, c, fmt.Errorf("damaged index: %w", err)
	}
	if err := info.validate(); err != nil {
		return info, c, fmt.Errorf("damaged index: %w", err)
	}
	found := false
	for _, at := range commitAt {
		if d, ok := decodeCommit(b[at:]); ok && d.end <= size && (!found || d.number > c.number) {
			c, found = d, true
		}
	}
	if !found {
		return info, c, errors.New("damaged index: neither of its commits is whole")
	}
	return info, c, nil
}

func aligned(n int64) int64 { return (n + alignment - 1) / alignment * alignment }

// encodeSegment is a table as a segment.
func encodeSegment(t *Table) ([]byte, error) {
	texts := int64(0)
	for i := range t.N {
		texts += int64(len(t.Path(i)) + len(t.Class(i)))
	}
	rows, offsets := 4*int64(t.N)*int64(t.H), 8*(2*int64(t.N)+1)
	b := make([]byte, 0, aligned(segmentHeader+rows+offsets+texts))
	b = append(b, make([]byte, segmentHeader)...)
	for _, x := range t.X {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	at := uint64(0)
	b = binary.LittleEndian.AppendUint64(b, at)
	for i := range t.N {
		for _, s := range []string{t.Path(i), t.Class(i)} {
			at += uint64(len(s))
			b = binary.LittleEndian.AppendUint64(b, at)
		}
	}
	for i := range t.N {
		b = append(append(b, t.Path(i)...), t.Class(i)...)
	}
	h := b[:segmentHeader]
	binary.LittleEndian.PutUint64(h[0:], uint64(t.N))
	binary.LittleEndian.PutUint64(h[8:], uint64(texts))
	binary.LittleEndian.PutUint32(h[16:], checksum(b[segmentHeader:]))
	binary.LittleEndian.PutUint32(h[20:], checksum(h[:20]))
	return b[:cap(b)][:aligned(int64(len(b)))], nil
}

// segment is a part of an index, whose rows and texts lie in the mapped file.
type segment struct {
	*eval.Embeddings
	first   int // row of the index
	offsets []byte
	texts   []byte
	sum     uint32
	body    []byte // what sum is of
}

// decodeSegment reads the segment at the begin of b, which lasts to the last
// one's end, and says how long it is.
func decodeSegment(b []byte, dim, first int) (s *segment, length int64, err error) {
	if len(b) < segmentHeader {
		return nil, 0, errors.New("a segment ends too early")
	}
	if binary.LittleEndian.Uint32(b[20:]) != checksum(b[:20]) {
		return nil, 0, errors.New("the header of a segment is damaged")
	}
	n, texts := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	room := uint64(len(b) - segmentHeader)
	perRow := 4*uint64(dim) + 16
	if n < 1 || n > math.MaxInt32 || n > room/perRow || texts > room-n*perRow || n*perRow+8+texts > room {
		return nil, 0, errors.New("a segment ends too early")
	}
	body := b[segmentHeader : segmentHeader+n*perRow+8+texts]
	rows := 4 * n * uint64(dim)
	s = &segment{
		Embeddings: &eval.Embeddings{X: floats(body[:rows]), N: int(n), H: dim}, first: first,
		offsets: body[rows : rows+16*n+8], texts: body[rows+16*n+8:], sum: binary.LittleEndian.Uint32(b[16:]), body: body,
	}
	last := uint64(0)
	for i := range 2*n + 1 {
		at := binary.LittleEndian.Uint64(s.offsets[8*i:])
		if at < last || at > texts {
			return nil, 0, errors.New("the texts of a segment are damaged")
		}
		last = at
	}
	return s, aligned(segmentHeader + int64(len(body))), nil
}

// text returns a copy of path (2i) or class (2i+1) of row i.
func (s *segment) text(i int) string {
	from, to := binary.LittleEndian.Uint64(s.offsets[8*i:]), binary.LittleEndian.Uint64(s.offsets[8*i+8:])
	return string(s.texts[from:to])
}
