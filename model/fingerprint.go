package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Fingerprint identifies what a model makes of an image: SHA-256, in
// hexadecimal, over the specification and names, shapes and numbers of the
// parameters. Epoch, threshold and other metadata do not count. Embeddings of
// models with different fingerprints are not to be compared.
func (m *Model) Fingerprint() (string, error) {
	ts, err := m.tensors()
	if err != nil {
		return "", err
	}
	spec, err := m.Settled()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", spec)
	for _, t := range ts {
		fmt.Fprintf(h, "%q %v\n", t.Name, t.Shape)
		if _, err := t.WriteTo(h); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
