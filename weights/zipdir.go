package weights

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
	"unsafe"
)

// zipDir is the central directory of a ZIP archive (PKWARE's APPNOTE 6.3.10).
//
// archive/zip would do, but for its memory: it spends some 300 bytes on each
// 46-byte record, which a hostile file of nothing but records turns into a
// multiple of its size.
type zipDir struct {
	src     io.ReaderAt
	size    int64
	entries []zipEntry
	index   map[string]int32

	scratch scratch
}

type zipEntry struct {
	name            string
	local           int64 // offset of the local header
	packed, size    int64
	crc             uint32
	method, flagged uint16
}

const (
	zipEndLen, zipEnd64Len, zipLocatorLen = 22, 56, 20
	zipRecordLen, zipLocalLen             = 46, 30

	zipLocalMagic   = "PK\x03\x04"
	zipRecordMagic  = "PK\x01\x02"
	zipEndMagic     = "PK\x05\x06"
	zipEnd64Magic   = "PK\x06\x06"
	zipLocatorMagic = "PK\x06\x07"

	zipStored, zipDeflated = 0, 8
)

// readZipDir reads the directory of a file of the given size.
func readZipDir(r io.ReaderAt, size int64, b *budget) (*zipDir, error) {
	start, length, records, err := findZipDir(r, size)
	if err != nil {
		return nil, err
	}
	if records > length/zipRecordLen {
		return nil, fmt.Errorf("the zip directory states %d entries in %d bytes", records, length)
	}
	perRecord := int64(unsafe.Sizeof(zipEntry{})) + 48 // 48: a slot of the index
	if err := b.take(2*length + records*perRecord); err != nil {
		return nil, err
	}
	dir := make([]byte, length)
	if err := readAt(r, dir, start); err != nil {
		return nil, fmt.Errorf("zip directory: %w", err)
	}
	z := &zipDir{src: r, size: size,
		entries: make([]zipEntry, 0, records), index: make(map[string]int32, records)}
	for i := range records {
		e, rest, err := zipRecord(dir)
		if err != nil {
			return nil, fmt.Errorf("zip directory, entry %d: %w", i, err)
		}
		if _, twice := z.index[e.name]; twice {
			return nil, fmt.Errorf("zip directory: the entry %q appears twice", e.name)
		}
		z.index[e.name] = int32(i)
		z.entries = append(z.entries, e)
		dir = rest
	}
	if len(dir) > 0 {
		return nil, fmt.Errorf("zip directory: %d bytes after its %d entries", len(dir), records)
	}
	return z, nil
}

// findZipDir returns where the directory lies and how many records it has.
func findZipDir(r io.ReaderAt, size int64) (start, length, records int64, err error) {
	end, endOff, err := findZipEnd(r, size)
	if err != nil {
		return 0, 0, 0, err
	}
	le := binary.LittleEndian
	records, length, start = int64(le.Uint16(end[10:])), int64(le.Uint32(end[12:])), int64(le.Uint32(end[16:]))
	disks := le.Uint32(end[4:])
	if records == 0xffff || length == 0xffffffff || start == 0xffffffff {
		var loc [zipLocatorLen]byte
		var big [zipEnd64Len]byte
		if endOff < zipLocatorLen || readAt(r, loc[:], endOff-zipLocatorLen) != nil || string(loc[:4]) != zipLocatorMagic {
			return 0, 0, 0, errors.New("the zip64 locator is missing")
		}
		off := int64(le.Uint64(loc[8:]))
		if off < 0 || off > endOff-zipLocatorLen-zipEnd64Len || readAt(r, big[:], off) != nil || string(big[:4]) != zipEnd64Magic {
			return 0, 0, 0, errors.New("the zip64 end record is missing")
		}
		records, length, start = int64(le.Uint64(big[32:])), int64(le.Uint64(big[40:])), int64(le.Uint64(big[48:]))
		disks = le.Uint32(big[16:]) | le.Uint32(big[20:])
		endOff = off
	}
	if disks != 0 {
		return 0, 0, 0, errors.New("a zip archive in several parts")
	}
	if start < 0 || length < 0 || records < 0 || start > endOff || length > endOff-start {
		return 0, 0, 0, fmt.Errorf("the zip directory (%d bytes at %d) does not lie in the file of %d bytes", length, start, size)
	}
	return start, length, records, nil
}

// findZipEnd finds the end record, which is followed only by a comment of up to
// 65535 bytes.
func findZipEnd(r io.ReaderAt, size int64) (end []byte, off int64, err error) {
	for _, reach := range []int64{zipEndLen, zipEndLen + 0xffff} {
		n := min(reach, size)
		tail := make([]byte, n)
		if err := readAt(r, tail, size-n); err != nil {
			return nil, 0, err
		}
		for i := n - zipEndLen; i >= 0; i-- {
			p := tail[i:]
			if bytes.HasPrefix(p, []byte(zipEndMagic)) && int(binary.LittleEndian.Uint16(p[20:])) == len(p)-zipEndLen {
				return p[:zipEndLen], size - n + i, nil
			}
		}
	}
	return nil, 0, errors.New("a zip archive without its directory: the file is cut off or still being downloaded")
}

// zipRecord reads the first record of p and returns what follows it.
func zipRecord(p []byte) (e zipEntry, rest []byte, err error) {
	if len(p) < zipRecordLen || string(p[:4]) != zipRecordMagic {
		return e, nil, errors.New("not a directory record")
	}
	le := binary.LittleEndian
	name, extra, comment := int(le.Uint16(p[28:])), int(le.Uint16(p[30:])), int(le.Uint16(p[32:]))
	if len(p) < zipRecordLen+name+extra+comment {
		return e, nil, errors.New("the record is cut off")
	}
	e = zipEntry{
		name:   string(p[zipRecordLen : zipRecordLen+name]),
		method: le.Uint16(p[10:]), flagged: le.Uint16(p[8:]), crc: le.Uint32(p[16:]),
		packed: int64(le.Uint32(p[20:])), size: int64(le.Uint32(p[24:])), local: int64(le.Uint32(p[42:])),
	}
	if !utf8.ValidString(e.name) {
		return e, nil, fmt.Errorf("the name %q is not UTF-8", e.name)
	}
	p = p[zipRecordLen+name:]
	if err := e.zip64(p[:extra]); err != nil {
		return e, nil, fmt.Errorf("%q: %w", e.name, err)
	}
	return e, p[extra+comment:], nil
}

// zip64 replaces the numbers that did not fit 32 bits by those of the extra field.
func (e *zipEntry) zip64(extra []byte) error {
	le := binary.LittleEndian
	var wide []byte
	for len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return errors.New("an extra field is cut off")
		}
		if id == 1 {
			wide = extra[:n]
		}
		extra = extra[n:]
	}
	for _, field := range []*int64{&e.size, &e.packed, &e.local} {
		if *field != 0xffffffff {
			continue
		}
		if len(wide) < 8 {
			return errors.New("the zip64 sizes are missing")
		}
		if *field = int64(le.Uint64(wide)); *field < 0 {
			return errors.New("a zip64 size does not fit 63 bits")
		}
		wide = wide[8:]
	}
	return nil
}

// find returns the entry of a name.
func (z *zipDir) find(name string) (*zipEntry, bool) {
	i, ok := z.index[name]
	if !ok {
		return nil, false
	}
	return &z.entries[i], true
}

// blob locates the bytes of an entry.
func (z *zipDir) blob(e *zipEntry) (*blob, error) {
	if e.flagged&1 != 0 {
		return nil, fmt.Errorf("the zip entry %q is encrypted", e.name)
	}
	if e.method != zipStored && e.method != zipDeflated {
		return nil, fmt.Errorf("the zip entry %q is compressed by method %d; only stored (0) and deflated (8) are known", e.name, e.method)
	}
	if e.method == zipStored && e.packed != e.size {
		return nil, fmt.Errorf("the zip entry %q is stored, but of %d bytes in %d", e.name, e.size, e.packed)
	}
	var h [zipLocalLen]byte
	if e.local > z.size-zipLocalLen || readAt(z.src, h[:], e.local) != nil || string(h[:4]) != zipLocalMagic {
		return nil, fmt.Errorf("the zip entry %q has no header at %d", e.name, e.local)
	}
	off := e.local + zipLocalLen + int64(binary.LittleEndian.Uint16(h[26:])) + int64(binary.LittleEndian.Uint16(h[28:]))
	if off > z.size || e.packed > z.size-off {
		return nil, fmt.Errorf("the zip entry %q (%d bytes at %d) does not lie in the file of %d bytes", e.name, e.packed, off, z.size)
	}
	return &blob{src: z.src, off: off, pack: e.packed, size: e.size, what: e.name,
		deflated: e.method == zipDeflated, scratch: &z.scratch, crc: e.crc, limit: unfoldLimit(z.size)}, nil
}
