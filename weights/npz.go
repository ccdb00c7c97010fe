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
		cost := 3*unsafe.Sizeof(Tensor{}) + unsafe.Sizeof(view{}) + unsafe.Sizeof(blob{}) + 2*objectSize
		if err := b.take(int64(cost)); err != nil {
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
