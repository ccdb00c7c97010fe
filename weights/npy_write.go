package weights

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// npyHeaderBytes returns what stands before the data: version 1.0, padded so
// that the data begin at a multiple of 64 bytes.
func npyHeaderBytes(t *Tensor) ([]byte, error) {
	descr, err := npyDescr(t)
	if err != nil {
		return nil, err
	}
	var shape strings.Builder
	for i, d := range t.Shape {
		if i > 0 {
			shape.WriteByte(' ')
		}
		shape.WriteString(strconv.Itoa(d) + ",")
	}
	dims := shape.String()
	if len(t.Shape) > 1 {
		dims = strings.TrimSuffix(dims, ",")
	}
	var b bytes.Buffer
	b.WriteString(npyMagic + "\x01\x00\x00\x00")
	fmt.Fprintf(&b, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, dims)
	for b.Len()%64 != 63 {
		b.WriteByte(' ')
	}
	b.WriteByte('\n')
	// At most 64 dimensions of 20 digits: far below the 16-bit limit.
	binary.LittleEndian.PutUint16(b.Bytes()[8:], uint16(b.Len()-10))
	return b.Bytes(), nil
}

func npyDescr(t *Tensor) (string, error) {
	switch t.DType {
	case Text:
		return fmt.Sprintf("<U%d", t.data.width/4), nil
	case ByteText:
		return fmt.Sprintf("|S%d", t.data.width), nil
	}
	code := t.DType.facts().npy
	switch {
	case code == "":
		return "", fmt.Errorf("NumPy has no type for %v; convert tensor %q to float32", t.DType, t.Name)
	case t.DType.Bits() == 8:
		return "|" + code, nil
	}
	return "<" + code, nil
}

func writeNPY(w io.Writer, t *Tensor) error {
	header, err := npyHeaderBytes(t)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err = t.WriteTo(w)
	return err
}

// WriteNPY writes one array to a .npy file. The name of the tensor is not stored.
func WriteNPY(path string, t *Tensor) error {
	f, err := newPending(path)
	if err != nil {
		return err
	}
	defer f.discard()
	if err := writeNPY(f, t); err != nil {
		return f.fail(err)
	}
	return f.commit()
}

// NPZWriter writes a .npz file array by array.
type NPZWriter struct {
	file *pending
	zip  *zip.Writer
	seen map[string]bool
	err  error // the first failure; the archive is of no use after it
}

// CreateNPZ begins a .npz file. Arrays are stored without compression, which
// hardly shrinks weights, in the order in which they are written. The same input
// gives the same bytes.
func CreateNPZ(path string) (*NPZWriter, error) {
	f, err := newPending(path)
	if err != nil {
		return nil, err
	}
	return &NPZWriter{file: f, zip: zip.NewWriter(f), seen: map[string]bool{}}, nil
}

// Write implements Writer.
func (w *NPZWriter) Write(t *Tensor) error {
	if w.err == nil {
		if err := w.write(t); err != nil {
			w.err = w.file.fail(err)
		}
	}
	return w.err
}

func (w *NPZWriter) write(t *Tensor) error {
	switch {
	case t.Name == "":
		return errors.New("an array without a name")
	case w.seen[t.Name]:
		return fmt.Errorf("two arrays have the name %q", t.Name)
	}
	w.seen[t.Name] = true
	entry, err := w.zip.CreateHeader(&zip.FileHeader{
		Name: t.Name + ".npy", Method: zip.Store,
		Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), // the same bytes every time
	})
	if err != nil {
		return err
	}
	return writeNPY(entry, t)
}

// Close implements Writer. It fails where a Write failed.
func (w *NPZWriter) Close() error {
	if w.err == nil {
		if err := w.zip.Close(); err != nil {
			w.err = w.file.fail(err)
		}
	}
	if w.err != nil {
		w.Abort()
		return w.err
	}
	return w.file.commit()
}

// Abort implements Writer.
func (w *NPZWriter) Abort() { w.file.discard() }

// WriteNPZ writes a whole .npz file; see CreateNPZ.
func WriteNPZ(path string, tensors []*Tensor) error {
	w, err := CreateNPZ(path)
	if err != nil {
		return err
	}
	return writeAll(w, tensors)
}
