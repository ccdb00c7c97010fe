package weights

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// ChecksumKey is the metadata entry of a safetensors file that holds its Checksum.
const ChecksumKey = "vernier.checksum"

// Checksum is the SHA-256, in hexadecimal, of tensors by their names, with types,
// shapes and bytes, and of the metadata but for ChecksumKey itself.
func Checksum(tensors []*Tensor, metadata map[string]string) (string, error) {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(metadata)) {
		if k != ChecksumKey {
			fmt.Fprintf(h, "%q=%q\n", k, metadata[k])
		}
	}
	sorted := slices.SortedFunc(slices.Values(tensors), func(a, b *Tensor) int { return cmp.Compare(a.Name, b.Name) })
	for _, t := range sorted {
		fmt.Fprintf(h, "%q %v %v\n", t.Name, t.DType, t.Shape)
		if _, err := t.WriteTo(h); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// WriteChecked is WriteSafetensors with the checksum added to the metadata.
func WriteChecked(path string, tensors []*Tensor, metadata map[string]string) error {
	sum, err := Checksum(tensors, metadata)
	if err != nil {
		return fmt.Errorf("weights: writing %s: %w", path, err)
	}
	all := map[string]string{}
	maps.Copy(all, metadata)
	all[ChecksumKey] = sum
	return WriteSafetensors(path, tensors, all)
}

// Verify compares a file with the checksum in its metadata, and reports whether it
// has one.
func (f *File) Verify() (has bool, err error) {
	want, has := f.meta[ChecksumKey]
	if !has {
		return false, nil
	}
	sum, err := Checksum(f.Tensors(), f.meta)
	if err != nil {
		return true, err
	}
	if sum != want {
		return true, fmt.Errorf("weights: %s is damaged: its checksum does not agree with its contents (or another program changed them: its metadata's %q is then to be removed)", f.path, ChecksumKey)
	}
	return true, nil
}
