package gallery

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A block is its header, its rows as float32, the numbers of rows that it removes (4
// bytes each), the places of its texts (key, path and class of every row: 3n+1 offsets of 8
// bytes), the texts, and zeros to a multiple of 64 bytes. Rows have a checksum and all
// behind them has another, so that it can be read without the rows.
const (
	blockHeaderSize = 64
	kindChange      = 1
	textsPerRow     = 3
)

// chunkSize is how much of a block is read and verified at once: it stays in a
// processor's cache meanwhile.
const chunkSize = 1 << 18

// blockHeader says what a block holds.
type blockHeader struct {
	number            uint64 // of the commit that made it count
	rows, removed     int
	length            int64 // in bytes, with the header
	rowsSum, textsSum uint32
	previous          uint32 // checksum of the header before
	sum               uint32 // of this header
}

func (h blockHeader) encode() []byte {
	b := make([]byte, blockHeaderSize)
	binary.LittleEndian.PutUint32(b[0:], kindChange)
	binary.LittleEndian.PutUint64(b[8:], h.number)
	binary.LittleEndian.PutUint64(b[16:], uint64(h.rows))
	binary.LittleEndian.PutUint64(b[24:], uint64(h.length))
	binary.LittleEndian.PutUint32(b[32:], h.rowsSum)
	binary.LittleEndian.PutUint32(b[36:], h.textsSum)
	binary.LittleEndian.PutUint32(b[40:], h.previous)
	binary.LittleEndian.PutUint32(b[44:], uint32(h.removed))
	binary.LittleEndian.PutUint32(b[60:], checksum(b[:60]))
	return b
}

// readBlockHeader reads the header at a place of a file whose blocks end at end.
func readBlockHeader(r io.ReaderAt, at, end int64, dim int) (h blockHeader, err error) {
	b := make([]byte, blockHeaderSize)
	if end-at < blockHeaderSize {
		return h, errors.New("a block ends too early")
	}
	if err := readFull(r, b, at); err != nil {
		return h, err
	}
	h.sum = binary.LittleEndian.Uint32(b[60:])
	if h.sum != checksum(b[:60]) {
		return h, errors.New("the header of a block is damaged")
	}
	if kind := binary.LittleEndian.Uint32(b); kind != kindChange {
		return h, fmt.Errorf("a block of kind %d, which a newer version wrote", kind)
	}
	rows, length := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	removed := binary.LittleEndian.Uint32(b[44:])
	// dim is at most maxDim, so that no product overflows.
	if rows+uint64(removed) < 1 || rows > math.MaxInt32 || removed > math.MaxInt32 || length > uint64(end-at) || length%alignment != 0 ||
		length < blockHeaderSize+rows*(4*uint64(dim)+8*textsPerRow)+8+4*uint64(removed) {
		return h, fmt.Errorf("a block of %d rows has %d bytes, and %d are there", rows, length, end-at)
	}
	h.removed = int(removed)
	h.number, h.rows, h.length = binary.LittleEndian.Uint64(b[8:]), int(rows), int64(length)
	h.rowsSum, h.textsSum = binary.LittleEndian.Uint32(b[32:]), binary.LittleEndian.Uint32(b[36:])
	h.previous = binary.LittleEndian.Uint32(b[40:])
	return h, nil
}

// readFull is ReadAt that says when a file has become shorter.
func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("it is cut short at byte %d", at+int64(n))
	}
	return err
}

// change is what a block does: rows that it adds, which have keys, and the numbers of
// rows that it removes.
type change struct {
	add    *Table
	remove []uint32
}

// newBlock is the header of a block, and what it has behind its rows.
func newBlock(c change, after commit) (h blockHeader, rest []byte, err error) {
	t := c.add
	if after.rows+uint64(t.N) > math.MaxInt32 {
		return h, nil, fmt.Errorf("an index holds at most %d rows, removed ones among them; compact it", math.MaxInt32)
	}
	h = blockHeader{number: after.number + 1, rows: t.N, removed: len(c.remove), previous: after.chain}
	texts := func(i int) [textsPerRow]string { return [...]string{t.Keys[i], t.Path(i), t.Class(i)} }
	size := int64(0)
	for i := range t.N {
		for _, s := range texts(i) {
			size += int64(len(s))
		}
	}
	rows, tables := 4*int64(t.N)*int64(t.H), 4*int64(len(c.remove))+8*(textsPerRow*int64(t.N)+1)
	h.length = aligned(blockHeaderSize + rows + tables + size)
	rest = make([]byte, 0, h.length-blockHeaderSize-rows)
	for _, row := range c.remove {
		rest = binary.LittleEndian.AppendUint32(rest, row)
	}
	at := uint64(0)
	rest = binary.LittleEndian.AppendUint64(rest, at)
	for i := range t.N {
		for _, s := range texts(i) {
			at += uint64(len(s))
			rest = binary.LittleEndian.AppendUint64(rest, at)
		}
	}
	for i := range t.N {
		for _, s := range texts(i) {
			rest = append(rest, s...)
		}
	}
	rest = rest[:cap(rest)] // zeros to the end
	h.rowsSum, h.textsSum = checksum(floatBytes(t.X)), checksum(rest)
	h.sum = checksum(h.encode()[:60])
	return h, rest, nil
}

// writeBlock writes a block at a place.
func writeBlock(w io.WriterAt, at int64, h blockHeader, x []float32, rest []byte) error {
	for _, b := range [][]byte{h.encode(), floatBytes(x), rest} {
		if _, err := w.WriteAt(b, at); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

// block is a block of a file.
type block struct {
	blockHeader
	at    int64
	first int // its first row in the index
}

// damaged says which rows are damaged.
func (b block) damaged(what string) error {
	return fmt.Errorf("rows %d to %d: %s", b.first, b.first+b.rows-1, what)
}

// readRows fills x with the rows, which are verified.
func (b block) readRows(r io.ReaderAt, x []float32, dim int) error {
	return b.scanRows(r, dim, func(from, to int) []float32 { return x[from:to] })
}

// scanRows reads the numbers of the rows, part after part, into what room returns for
// those from one place to another, and verifies them.
func (b block) scanRows(r io.ReaderAt, dim int, room func(from, to int) []float32) error {
	at, sum, all := b.at+blockHeaderSize, uint32(0), b.rows*dim
	var bad error
	for from := 0; from < all; from += chunkSize / 4 {
		part := room(from, min(from+chunkSize/4, all))
		raw, done := floatsFrom(part)
		if err := readFull(r, raw, at); err != nil {
			return err
		}
		done()
		at += int64(len(raw))
		sum = crc32.Update(sum, crcTable, raw)
		if i := notFinite(part); i >= 0 && bad == nil {
			bad = fmt.Errorf("row %d holds %v in coordinate %d", b.first+(from+i)/dim, part[i], (from+i)%dim)
		}
	}
	if sum != b.rowsSum {
		return b.damaged("their checksum does not agree")
	}
	return bad
}

// readRow fills x with the numbers of a row of the index, which are not verified.
func (b block) readRow(r io.ReaderAt, row int, x []float32) error {
	raw, done := floatsFrom(x)
	defer done()
	return readFull(r, raw, b.at+blockHeaderSize+int64(row-b.first)*4*int64(len(x)))
}

// texts is what a block has behind its rows: of every row its key, path and class, and
// the numbers of the rows that are removed.
type texts struct {
	keys, paths, classes []string
	removed              []uint32
}

// readTexts reads what is behind the rows, verified.
func (b block) readTexts(r io.ReaderAt, dim int) (t texts, err error) {
	rows := 4 * int64(b.rows) * int64(dim)
	raw := make([]byte, b.length-blockHeaderSize-rows)
	if err := readFull(r, raw, b.at+blockHeaderSize+rows); err != nil {
		return t, err
	}
	if checksum(raw) != b.textsSum {
		return t, b.damaged("the checksum of their paths and classes does not agree")
	}
	t.removed = make([]uint32, b.removed)
	for i := range t.removed {
		if t.removed[i] = binary.LittleEndian.Uint32(raw[4*i:]); int(t.removed[i]) >= b.first {
			return t, b.damaged("they remove rows that are not there")
		}
	}
	raw = raw[4*b.removed:]
	n := textsPerRow * b.rows
	all := string(raw[8*(n+1):]) // one piece of memory for all
	list := make([]string, n)
	last := uint64(0)
	for i := range list {
		to := binary.LittleEndian.Uint64(raw[8*(i+1):])
		if to < last || to > uint64(len(all)) {
			return t, b.damaged("the places of their paths and classes are damaged")
		}
		list[i], last = all[last:to], to
	}
	for i := 0; i < n; i += textsPerRow {
		t.keys, t.paths, t.classes = append(t.keys, list[i]), append(t.paths, list[i+1]), append(t.classes, list[i+2])
	}
	return t, nil
}

// verify reads a block, drops its rows and returns its texts.
func (b block) verify(r io.ReaderAt, dim int) (texts, error) {
	t, err := b.readTexts(r, dim)
	if err != nil {
		return t, err
	}
	part := make([]float32, min(b.rows*dim, chunkSize/4))
	return t, b.scanRows(r, dim, func(from, to int) []float32 { return part[:to-from] })
}
