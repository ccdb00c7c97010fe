package weights

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Spec is a tensor without its numbers.
type Spec struct {
	Name  string
	DType DType
	Shape []int
}

// SafetensorsWriter writes a safetensors file tensor by tensor.
type SafetensorsWriter struct {
	file  *pending
	specs map[string]*placed
	start int64 // of the data
	left  int
}

// placed is a tensor with its place in the data.
type placed struct {
	Spec
	begin, end int64
	written    bool
}

// CreateSafetensors begins a safetensors file. Its header comes first, so that
// name, type and shape of every tensor must be known; they can then be written in
// any order.
//
// Tensors lie in the file in the order of specs, except that wider types come
// before narrower ones, so that every tensor is aligned. Metadata is sorted by
// key. The same input gives the same bytes.
func CreateSafetensors(path string, specs []Spec, metadata map[string]string) (*SafetensorsWriter, error) {
	places, err := placeTensors(specs)
	if err != nil {
		return nil, fmt.Errorf("weights: writing %s: %w", path, err)
	}
	header, err := safetensorsHeaderBytes(places, metadata)
	if err != nil {
		return nil, fmt.Errorf("weights: writing %s: %w", path, err)
	}
	f, err := newPending(path)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(header); err != nil {
		f.discard()
		return nil, f.fail(err)
	}
	w := &SafetensorsWriter{file: f, specs: make(map[string]*placed, len(places)), start: int64(len(header)), left: len(places)}
	for i := range places {
		w.specs[places[i].Name] = &places[i]
	}
	return w, nil
}

func placeTensors(specs []Spec) ([]placed, error) {
	places := make([]placed, len(specs))
	seen := make(map[string]bool, len(specs))
	for i, s := range specs {
		switch {
		case s.Name == metadataKey:
			return nil, fmt.Errorf("a tensor cannot have the name %q", s.Name)
		case !utf8.ValidString(s.Name):
			return nil, fmt.Errorf("the tensor name %q is not UTF-8", s.Name)
		case seen[s.Name]:
			return nil, fmt.Errorf("two tensors have the name %q", s.Name)
		case s.DType.Code() == "":
			return nil, fmt.Errorf("tensor %q: safetensors has no type for %v", s.Name, s.DType)
		}
		seen[s.Name] = true
		n, err := count(s.Shape)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", s.Name, err)
		}
		size, err := byteSize(n, s.DType)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", s.Name, err)
		}
		places[i] = placed{Spec: s, end: size}
	}
	slices.SortStableFunc(places, func(a, b placed) int { return cmp.Compare(b.DType.Bits(), a.DType.Bits()) })
	var at int64
	for i := range places {
		places[i].begin, places[i].end = at, at+places[i].end
		at = places[i].end
	}
	return places, nil
}

// safetensorsHeaderBytes returns length and JSON, padded by spaces to 8 bytes.
func safetensorsHeaderBytes(places []placed, metadata map[string]string) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 8, 8+100*(len(places)+1)))
	b.WriteByte('{')
	comma := func(i int) {
		if i > 0 {
			b.WriteByte(',')
		}
	}
	if len(metadata) > 0 {
		b.WriteString(`"` + metadataKey + `":{`)
		for i, k := range slices.Sorted(maps.Keys(metadata)) {
			if !utf8.ValidString(k) || !utf8.ValidString(metadata[k]) {
				return nil, fmt.Errorf("the metadata %q is not UTF-8", k)
			}
			comma(i)
			writeJSON(b, k)
			b.WriteByte(':')
			writeJSON(b, metadata[k])
		}
		b.WriteByte('}')
		comma(len(places))
	}
	for i, p := range places {
		comma(i)
		writeJSON(b, p.Name)
		b.WriteString(`:{"dtype":"` + p.DType.Code() + `","shape":[`)
		for j, d := range p.Shape {
			comma(j)
			b.WriteString(strconv.Itoa(d))
		}
		fmt.Fprintf(b, `],"data_offsets":[%d,%d]}`, p.begin, p.end)
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	header := b.Bytes()
	if n := len(header) - 8; n > maxSafetensorsHeader {
		return nil, fmt.Errorf("the header has %d bytes, the format allows %d", n, maxSafetensorsHeader)
	}
	binary.LittleEndian.PutUint64(header, uint64(len(header)-8))
	return header, nil
}

// writeJSON writes a string without escaping what HTML would need.
func writeJSON(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	// A string and a buffer cannot fail.
	_ = e.Encode(s)
	b.Truncate(b.Len() - 1) // the newline
}

// Write implements Writer. Type and shape must be those that were announced.
func (w *SafetensorsWriter) Write(t *Tensor) error {
	p, ok := w.specs[t.Name]
	switch {
	case !ok:
		return w.file.fail(fmt.Errorf("tensor %q was not announced", t.Name))
	case p.written:
		return w.file.fail(fmt.Errorf("tensor %q is written twice", t.Name))
	case p.DType != t.DType || !slices.Equal(p.Shape, t.Shape):
		return w.file.fail(fmt.Errorf("tensor %q is %v of shape %v, %v of shape %v was announced", t.Name, t.DType, t.Shape, p.DType, p.Shape))
	}
	if _, err := t.WriteTo(io.NewOffsetWriter(w.file, w.start+p.begin)); err != nil {
		return w.file.fail(err)
	}
	p.written = true
	w.left--
	return nil
}

// Close implements Writer. It fails when an announced tensor was not written.
func (w *SafetensorsWriter) Close() error {
	if w.left > 0 {
		w.Abort()
		for _, name := range slices.Sorted(maps.Keys(w.specs)) {
			if !w.specs[name].written {
				return w.file.fail(fmt.Errorf("%d tensors were announced but not written, %q among them", w.left, name))
			}
		}
	}
	return w.file.commit()
}

// Abort implements Writer.
func (w *SafetensorsWriter) Abort() { w.file.discard() }

// WriteSafetensors writes a whole safetensors file; see CreateSafetensors.
func WriteSafetensors(path string, tensors []*Tensor, metadata map[string]string) error {
	specs := make([]Spec, len(tensors))
	for i, t := range tensors {
		specs[i] = Spec{t.Name, t.DType, t.Shape}
	}
	w, err := CreateSafetensors(path, specs, metadata)
	if err != nil {
		return err
	}
	return writeAll(w, tensors)
}

func writeAll(w Writer, tensors []*Tensor) error {
	defer w.Abort()
	for _, t := range tensors {
		if err := w.Write(t); err != nil {
			return err
		}
	}
	return w.Close()
}
