package weights

import (
	"fmt"
	"io"
	"strings"
	"unsafe"
)

// torchPrefix returns the folder of data.pkl in an archive by torch.save, with
// its slash; torch names it after the file.
func torchPrefix(z *archive) (string, bool) {
	for i := range z.entries {
		dir, ok := strings.CutSuffix(z.entries[i].Name, "data.pkl")
		if ok && (dir == "" || strings.Index(dir, "/") == len(dir)-1) {
			return dir, true
		}
	}
	return "", false
}

// readTorchZip reads an archive by torch.save (torch 1.6 and later) or torch.jit.save:
// <name>/data.pkl refers to the storages <name>/data/<key>. The program of a TorchScript
// archive, which has <name>/constants.pkl, is not looked at; of its modules the attributes
// are read that are tensors.
func readTorchZip(f *File, z *archive, prefix string, b *budget) error {
	f.format = FormatTorchZip
	script := z.has(prefix + "constants.pkl")
	if script {
		f.format = FormatTorchScript
	}
	if err := checkByteOrder(z, prefix); err != nil {
		return err
	}
	pkl, err := z.find(prefix + "data.pkl")
	if err != nil {
		return err
	}
	src, err := pkl.random()
	if err != nil {
		return err
	}
	blobs := map[string]*blob{}
	u := &unpickler{r: newPickleReader(src, pkl.size), budget: b, script: script}
	u.persistent = func(id any) (any, error) {
		if class, ok := classID(id); ok {
			return class, nil
		}
		s, _, err := storageID(id)
		if err != nil {
			return nil, err
		}
		size, err := s.bytes()
		if err != nil {
			return nil, err
		}
		if err := b.take(storageCost); err != nil {
			return nil, err
		}
		if s.data = blobs[s.key]; s.data == nil {
			name := prefix + "data/" + s.key
			if s.data, err = z.find(name); err != nil {
				return nil, err
			}
			if err := b.take(int64(unsafe.Sizeof(blob{})) + 64); err != nil { // 64: its name
				return nil, err
			}
			blobs[s.key] = s.data
		}
		if s.data.size < size {
			return nil, fmt.Errorf("storage %q has %d bytes, its %d elements of %v need %d", s.key, s.data.size, s.elems, s.dtype, size)
		}
		return s, nil
	}
	root, err := u.run()
	if err != nil {
		return fmt.Errorf("%sdata.pkl: %w", prefix, err)
	}
	return flatten(f, root, u.tensors, b)
}

// checkByteOrder refuses files from big-endian machines. Files before torch 2.1
// do not say; they are little-endian in practice.
func checkByteOrder(z *archive, prefix string) error {
	if !z.has(prefix + "byteorder") {
		return nil
	}
	b, err := z.find(prefix + "byteorder")
	if err != nil {
		return err
	}
	r, done := b.open()
	defer done()
	text, err := io.ReadAll(io.LimitReader(r, 16))
	if err != nil {
		return fmt.Errorf("%sbyteorder: %w", prefix, noEOF(err))
	}
	if string(text) != "little" {
		return fmt.Errorf("the byte order is %q; only little-endian files are read", text)
	}
	return nil
}
