package weights

import (
	"fmt"
	"strings"
	"unsafe"
)

// readNPZ reads a zip archive of arrays; an entry "a.npy" is the tensor "a".
func readNPZ(f *File, z *archive, b *budget) error {
	f.format = FormatNPZ
	for _, e := range z.entries {
		if strings.HasSuffix(e.Name, "/") && e.UncompressedSize64 == 0 {
			continue // a folder
		}
		name, ok := strings.CutSuffix(e.Name, ".npy")
		if !ok {
			return fmt.Errorf("the entry %q is not an array (.npy)", e.Name)
		}
		if err := b.take(2*tensorCost + int64(unsafe.Sizeof(blob{})) + objectSize); err != nil {
			return err
		}
		data, err := z.blob(e)
		if err != nil {
			return err
		}
		t, err := npyTensor(name, data)
		if err != nil {
			return fmt.Errorf("entry %q: %w", e.Name, err)
		}
		f.tensors = append(f.tensors, t)
	}
	return nil
}
