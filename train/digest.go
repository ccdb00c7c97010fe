package train

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/vernier-ml/vernier/weights"
)

// digest is the SHA-256 of names and bytes of tensors in their order.
func digest(ts []*weights.Tensor) (string, error) {
	h := sha256.New()
	for _, t := range ts {
		fmt.Fprintf(h, "%q\n", t.Name)
		if _, err := t.WriteTo(h); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// verify compares a checkpoint with the digest in its metadata.
func verify(f *weights.File) error {
	sum, err := digest(f.Tensors())
	if err != nil {
		return err
	}
	if sum != f.Metadata()[sumKey] {
		return fmt.Errorf("%s is damaged: its checksum does not agree with its contents", f.Path())
	}
	return nil
}
