package weights

import (
	"fmt"
	"strings"
	"unsafe"
)

// readNPZ reads a zip archive of arrays; an entry "a.npy" is the tensor "a".
func readNPZ(f *File, z *zipDir, b *budget) error {
	f.format = FormatNPZ
	for i := range z.entries {
		e := &z.entries[i]
		if strings.HasSuffix(e.name, "/") && e.size == 0 {
			continue // a folder
		}
		name, ok := strings.CutSuffix(e.name, ".npy")
		if !ok {
			return fmt.Errorf("the entry %q is not an array (.npy)", e.name)
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
			return fmt.Errorf("entry %q: %w", e.name, err)
		}
		f.tensors = append(f.tensors, t)
	}
	return nil
}
