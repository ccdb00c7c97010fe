package weights

import (
	"fmt"
	"io"
	"os"

	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// Format is the kind of a weight file.
type Format string

// The formats that Open reads.
const (
	FormatSafetensors Format = "safetensors"
	FormatTorchZip    Format = "pytorch (zip)"
	FormatTorchLegacy Format = "pytorch (legacy)"
	FormatTorchScript Format = "torchscript"
	FormatNPY         Format = "npy"
	FormatNPZ         Format = "npz"
)

// File is an open weight file. Its methods may be called concurrently, except
// Close. Tensors of a closed file cannot be read any more.
type File struct {
	path    string
	size    int64
	format  Format
	closer  io.Closer
	tensors []Tensor
	index   map[string]int32
	meta    map[string]string
	values  map[string]any
	// modules are the classes of networks that a PyTorch file holds as a whole,
	// which stay unread.
	modules []string
}

// Open opens a weight file of any known format, recognized by its content. It reads
// and checks names, types, shapes and where the data lie, not the data.
func Open(path string) (*File, error) {
	src, err := wholefile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	f, err := openFile(src, path)
	if err != nil {
		src.Close()
		return nil, err
	}
	f.closer = src
	return f, nil
}

func openFile(src *os.File, path string) (*File, error) {
	info, err := src.Stat()
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("weights: %s is not a regular file", path)
	}
	return NewFile(src, info.Size(), path)
}

// NewFile reads a weight file of size bytes from r, which must stay readable
// while the File is used. The name is for messages; its extension also decides
// what a damaged file was meant to be.
func NewFile(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{path: name, size: size, meta: map[string]string{}, values: map[string]any{}}
	if err := f.read(r); err != nil {
		return nil, fmt.Errorf("weights: %s: %w", name, err)
	}
	if f.index == nil {
		f.index = make(map[string]int32, len(f.tensors))
	}
	for i := range f.tensors {
		f.index[f.tensors[i].Name] = int32(i)
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Path returns the name under which the file was opened.
func (f *File) Path() string { return f.path }

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return f.size }

// Format returns the format that the content showed.
func (f *File) Format() Format { return f.format }

// Names returns the names of the tensors in the order of the file. Names inside
// nested dictionaries of a PyTorch file are joined by "/". A file that holds one
// array and no names has the one name "".
func (f *File) Names() []string {
	names := make([]string, len(f.tensors))
	for i := range f.tensors {
		names[i] = f.tensors[i].Name
	}
	return names
}

// Tensors returns the tensors in the order of the file.
func (f *File) Tensors() []*Tensor {
	ts := make([]*Tensor, len(f.tensors))
	for i := range f.tensors {
		ts[i] = &f.tensors[i]
	}
	return ts
}

// Tensor returns the tensor of a name. The error for an unknown name suggests
// the nearest one.
func (f *File) Tensor(name string) (*Tensor, error) {
	if i, ok := f.index[name]; ok {
		return &f.tensors[i], nil
	}
	hint := ""
	if near, ok := nearest.Of(name, f.Names()); ok {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return nil, fmt.Errorf("weights: %s has no tensor %q%s", f.path, name, hint)
}

// Float32 returns the numbers of a tensor; see Tensor.Float32.
func (f *File) Float32(name string) ([]float32, error) {
	t, err := f.Tensor(name)
	if err != nil {
		return nil, err
	}
	return t.Float32()
}

// Bytes returns the bytes of a tensor; see Tensor.Bytes.
func (f *File) Bytes(name string) ([]byte, error) {
	t, err := f.Tensor(name)
	if err != nil {
		return nil, err
	}
	return t.Bytes()
}

// Metadata returns the metadata of a safetensors file, empty for other formats.
func (f *File) Metadata() map[string]string { return f.meta }

// Values returns what a PyTorch file holds beside tensors, such as the epoch,
// under names joined by "/". Values are nil, bool, int64, *big.Int, float64,
// string, []byte, Object, []any (lists, tuples, sets) or, inside lists,
// map[string]any.
func (f *File) Values() map[string]any { return f.values }
