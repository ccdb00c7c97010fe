package gallery

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/vernier-ml/vernier/metric"
)

// An index is one file, little-endian:
//
//	0      magic; length of the Info; the Info as JSON; zeros; at 3068 the
//	       checksum of all this
//	3072   the commit
//	3584   the commit once more
//	4096   blocks, one after another
//
// Every block holds one change: rows that were added, and which of the rows before no
// longer count. A row has a number, from 0 in the order of the file, that it keeps; a row
// that is replaced is removed, and added anew. A block's header has the checksums of
// its contents and that of the header before it, and the commit has the checksum of
// the last header: all of the file up to the commit's end hangs on the commit.
//
// A change writes a block behind the end, syncs, writes the first commit, syncs,
// writes the second, and syncs: only then is it acknowledged. So the two commits
// differ only after a change that was interrupted, and then exactly as such a
// change leaves them (see settle). Everything else is damage, which no reader
// passes over and nobody writes over. What lies behind the end was never
// acknowledged. Room of rows that no longer count is given back by Compact, which
// writes a new file in the place of the old one.
//
// Blocks are of one kind today. A reader refuses kinds that it does not know, so that
// others can be added.
const (
	magic      = "vernier gallery\x03"
	versionAt  = len(magic) - 1
	infoAt     = len(magic) + 4
	headerSum  = 3068
	headerSize = 4096
	commitSize = 64
	sectorSize = 512
	alignment  = 64
)

// commitAt are the places of the commits: in different sectors of a disk, so
// that a torn write harms one.
var commitAt = [2]int64{3072, 3584}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crcTable) }

// ErrDamaged says that an index does not hold what was written to it.
var ErrDamaged = errors.New("damaged index")

func damagedf(format string, args ...any) error {
	return fmt.Errorf("%w: %w; restore it from a copy, or make it anew", ErrDamaged, fmt.Errorf(format, args...))
}

// maxDim bounds the numbers of a row.
const maxDim = 1 << 24

// Info says whose rows an index holds.
type Info struct {
	Metric string `json:"metric"` // in the form of metric.Parse
	Model  string `json:"model"`  // its fingerprint
	Dim    int    `json:"dim"`    // numbers of a row
}

func (i Info) validate() error {
	if i.Metric == "" || i.Model == "" || i.Dim < 1 || i.Dim > maxDim {
		return fmt.Errorf("an index needs a metric, the fingerprint of a model and a dimension from 1 to %d: got %q, %q and %d", maxDim, i.Metric, i.Model, i.Dim)
	}
	if _, err := metric.Parse(i.Metric); errors.Is(err, metric.ErrLinks) {
		return fmt.Errorf("rows of a gallery are compared by their metric alone: %w", err)
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
	number, rows, blocks uint64
	end                  int64
	chain                uint32 // checksum of the last block's header, or of the file's
	removed              uint64 // of the rows
}

// encode is the commit as bytes. The last four change in every bit from one commit
// to the next, so that a torn write differs from damage to a few bits.
func (c commit) encode() []byte {
	b := make([]byte, commitSize)
	for i, v := range []uint64{c.number, c.rows, c.blocks, uint64(c.end)} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	binary.LittleEndian.PutUint32(b[32:], c.chain)
	binary.LittleEndian.PutUint64(b[40:], c.removed)
	binary.LittleEndian.PutUint32(b[56:], checksum(b[:56]))
	binary.LittleEndian.PutUint32(b[60:], -uint32(c.number%2))
	return b
}

func decodeCommit(b []byte) (c commit, ok bool) {
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	c = commit{at(0), at(1), at(2), int64(at(3)), binary.LittleEndian.Uint32(b[32:]), at(5)}
	return c, bytes.Equal(b, c.encode()) && c.end >= headerSize && c.end%alignment == 0 && c.rows <= math.MaxInt32 && c.removed <= c.rows
}

// live is the number of rows that count.
func (c commit) live() int { return int(c.rows - c.removed) }

// next is the commit after a block was appended.
func (c commit) next(h blockHeader) commit {
	return commit{c.number + 1, c.rows + uint64(h.rows), c.blocks + 1, c.end + h.length, h.sum, c.removed + uint64(h.removed)}
}

// precedes reports whether the block with header h was appended to this commit.
func (c commit) precedes(h blockHeader) bool { return h.previous == c.chain && h.number == c.number+1 }

// before is the commit that next made this one of.
func (c commit) before(h blockHeader) commit {
	return commit{c.number - 1, c.rows - uint64(h.rows), c.blocks - 1, c.end - h.length, h.previous, c.removed - uint64(h.removed)}
}

// torn reports whether b is what a write of one commit over another leaves when it
// ends early.
func torn(b []byte, older, newer commit) bool {
	from, to := older.encode(), newer.encode()
	done := 0
	for done < len(b) && b[done] == to[done] {
		done++
	}
	return bytes.Equal(b[done:], from[done:])
}

// encodeHeader is the header of an index without blocks, and its checksum.
func encodeHeader(info Info) ([]byte, uint32, error) {
	text, err := json.Marshal(info)
	if err != nil {
		return nil, 0, err
	}
	if infoAt+len(text) > headerSum {
		return nil, 0, fmt.Errorf("metric and fingerprint of an index are too long: %d bytes", len(text))
	}
	b := make([]byte, headerSize)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[len(magic):], uint32(len(text)))
	copy(b[infoAt:], text)
	sum := checksum(b[:headerSum])
	binary.LittleEndian.PutUint32(b[headerSum:], sum)
	return b, sum, nil
}

// decodeHeader reads what encodeHeader wrote.
func decodeHeader(b []byte) (info Info, sum uint32, err error) {
	if len(b) < len(magic) || string(b[:versionAt]) != magic[:versionAt] {
		return info, 0, errors.New("this is no index of a gallery")
	}
	if b[versionAt] != magic[versionAt] {
		return info, 0, fmt.Errorf("this index is of version %d of its format, and version %d is read: make it anew", b[versionAt], magic[versionAt])
	}
	if len(b) < headerSize {
		return info, 0, damagedf("it is cut short after %d bytes", len(b))
	}
	sum = checksum(b[:headerSum])
	length := binary.LittleEndian.Uint32(b[len(magic):])
	if binary.LittleEndian.Uint32(b[headerSum:]) != sum || int64(length) > int64(headerSum-infoAt) {
		return info, 0, damagedf("the checksum of its header does not agree")
	}
	for _, at := range commitAt {
		if rest := b[at+commitSize : at+sectorSize]; !allZero(rest) {
			return info, 0, damagedf("there is something behind the commit at byte %d", at)
		}
	}
	if err := json.Unmarshal(b[infoAt:infoAt+int(length)], &info); err != nil {
		return info, 0, damagedf("its header: %w", err)
	}
	if err := info.validate(); err != nil {
		return info, 0, damagedf("its header: %w", err)
	}
	return info, sum, nil
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

func aligned(n int64) int64 { return (n + alignment - 1) / alignment * alignment }
