package weights

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSafetensorsHeader is the bound of the reference implementation.
const maxSafetensorsHeader = 100_000_000

// metadataKey is the member of a header that is not a tensor.
const metadataKey = "__metadata__"

// readSafetensors reads the header: its length (64 bits, little-endian), then a
// JSON object {"name": {"dtype", "shape", "data_offsets"}, ...}, then the data.
// The format demands that the tensors cover the data exactly.
func readSafetensors(f *File, src io.ReaderAt, size int64, b *budget) error {
	f.format = FormatSafetensors
	if size < 8 {
		return fmt.Errorf("%d bytes are too few for a safetensors file, which begins with an 8-byte length", size)
	}
	var head [8]byte
	if err := readAt(src, head[:], 0); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > maxSafetensorsHeader {
		return fmt.Errorf("not a safetensors file, or damaged: its first 8 bytes announce a header of %d bytes, at most %d are allowed", n, maxSafetensorsHeader)
	}
	if int64(n) > size-8 {
		return fmt.Errorf("the header length is %d, but only %d bytes follow: the file is cut off", n, size-8)
	}
	if err := b.take(int64(n)); err != nil {
		return err
	}
	// As a string, so that names can share its memory.
	var text strings.Builder
	text.Grow(int(n))
	if _, err := io.Copy(&text, io.NewSectionReader(src, 8, int64(n))); err != nil || text.Len() < int(n) {
		return fmt.Errorf("header: %w", noEOF(cmp.Or(err, io.ErrUnexpectedEOF)))
	}
	header := text.String()
	if !utf8.ValidString(header) {
		return errors.New("the header is not UTF-8")
	}
	if len(header) == 0 || header[0] != '{' {
		return fmt.Errorf("the header must be a JSON object and begin with '{', it begins with %q", header[:min(len(header), 8)])
	}
	dataSize := size - 8 - int64(n)
	h := &safetensorsHeader{
		file: f, json: headerJSON{p: header}, budget: b, dataSize: dataSize,
		data: &blob{scratch: new(scratch), src: src, off: 8 + int64(n), pack: dataSize, size: dataSize, limit: unfoldLimit(size), what: "data"},
	}
	// A bound: text in names could look the same.
	most := strings.Count(header, `"data_offsets"`)
	if err := b.take(tensorCost * int64(most)); err != nil {
		return err
	}
	f.tensors = make([]Tensor, 0, most)
	f.index = make(map[string]int32, most)
	if err := h.json.members(h.member); err != nil {
		return err
	}
	if err := h.json.end(); err != nil {
		return err
	}
	return h.cover()
}

type safetensorsHeader struct {
	file     *File
	json     headerJSON
	budget   *budget
	data     *blob
	dataSize int64
	hasMeta  bool
}

// member reads one member of the header.
func (h *safetensorsHeader) member(name string) error {
	if name == metadataKey {
		if h.hasMeta {
			return h.json.fail("%s appears twice", metadataKey)
		}
		h.hasMeta = true
		return h.metadata()
	}
	if _, twice := h.file.index[name]; twice {
		return h.json.fail("the tensor %q appears twice", name)
	}
	h.file.index[name] = 0 // known once they are sorted
	t, err := h.tensor(name)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	h.file.tensors = append(h.file.tensors, t)
	return nil
}

func (h *safetensorsHeader) metadata() error {
	return h.json.members(func(key string) error {
		if _, twice := h.file.meta[key]; twice {
			return h.json.fail("the metadata key %q appears twice", key)
		}
		value, err := h.json.text()
		if err != nil {
			return fmt.Errorf("metadata %q: %w", key, err)
		}
		if err := h.budget.take(int64(len(key)+len(value)) + 2*objectSize); err != nil {
			return err
		}
		h.file.meta[key] = value
		return nil
	})
}

func (h *safetensorsHeader) tensor(name string) (Tensor, error) {
	var code string
	var shape, offsets []int
	var have [3]bool // dtype, shape, data_offsets
	once := func(i int, key string) error {
		if have[i] {
			return h.json.fail("%s appears twice", key)
		}
		have[i] = true
		return nil
	}
	err := h.json.members(func(key string) (err error) {
		switch key {
		case "dtype":
			if err = once(0, key); err == nil {
				code, err = h.json.text()
			}
		case "shape":
			if err = once(1, key); err == nil {
				shape, err = h.json.wholes([]int{}, maxRank)
			}
		case "data_offsets":
			if err = once(2, key); err == nil {
				offsets, err = h.json.wholes(nil, 2)
			}
			if err == nil && len(offsets) != 2 {
				err = h.json.fail("data_offsets has %d numbers instead of 2", len(offsets))
			}
		default:
			err = h.json.fail("the unknown member %q", key)
		}
		return err
	})
	if err != nil {
		return Tensor{}, err
	}
	for i, key := range [...]string{"dtype", "shape", "data_offsets"} {
		if !have[i] {
			return Tensor{}, h.json.fail("it has no %s", key)
		}
	}
	if err := h.budget.take(8 * int64(len(shape))); err != nil {
		return Tensor{}, err
	}
	return h.check(name, code, shape, int64(offsets[0]), int64(offsets[1]))
}

// check compares type, shape and offsets with each other and with the file.
func (h *safetensorsHeader) check(name, code string, shape []int, begin, end int64) (Tensor, error) {
	d, ok := dtypeByCode(code)
	if !ok {
		return Tensor{}, fmt.Errorf("the unknown dtype %q", code)
	}
	n, err := count(shape)
	if err != nil {
		return Tensor{}, err
	}
	size, err := byteSize(n, d)
	if err != nil {
		return Tensor{}, err
	}
	if begin > end {
		return Tensor{}, fmt.Errorf("data_offsets [%d, %d]: the end is before the begin", begin, end)
	}
	if end > h.dataSize {
		return Tensor{}, fmt.Errorf("data_offsets [%d, %d] reach beyond the %d bytes of data: the file is cut off or damaged", begin, end, h.dataSize)
	}
	if size != end-begin {
		return Tensor{}, fmt.Errorf("shape %v of %s has %d bytes, data_offsets [%d, %d] have %d", shape, code, size, begin, end, end-begin)
	}
	v := view{data: h.data, off: begin, nbytes: size, width: int32(max(d.Bits()/8, 1))}
	return Tensor{Name: name, DType: d, Shape: shape, data: v}, nil
}

// cover sorts the tensors by their place in the data and checks that they leave
// no gap and do not overlap.
func (h *safetensorsHeader) cover() error {
	ts := h.file.tensors
	slices.SortStableFunc(ts, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(a.data.off, b.data.off), cmp.Compare(a.data.nbytes, b.data.nbytes))
	})
	var at int64
	for i := range ts {
		v := &ts[i].data
		if v.off < at {
			return fmt.Errorf("tensor %q (data from %d) overlaps the one before it (data to %d)", ts[i].Name, v.off, at)
		}
		if v.off > at {
			return fmt.Errorf("bytes %d to %d of the data belong to no tensor (before %q)", at, v.off, ts[i].Name)
		}
		at += v.nbytes
	}
	if at != h.dataSize {
		return fmt.Errorf("%d bytes of data follow the last tensor", h.dataSize-at)
	}
	return nil
}
