package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// kept is a folder of the files of images that were put. A file is named by the SHA-256 of
// the key of its row, whatever that is: no name leads out of the folder.
type kept struct{ folder string }

func openKept(folder string) (*kept, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return &kept{folder}, nil
}

func (k *kept) place(key string) string {
	sum := sha256.Sum256([]byte(key))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(k.folder, name[:2], name)
}

// add keeps a file, as a whole or not at all.
func (k *kept) add(key string, file []byte) error {
	place := k.place(key)
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return err
	}
	return wholefile.WriteBytes(place, file)
}

// read returns a file; the error is fs.ErrNotExist if there is none.
func (k *kept) read(key string) ([]byte, error) { return wholefile.Read(k.place(key)) }

// remove removes a file, if it is there.
func (k *kept) remove(key string) error {
	if err := os.Remove(k.place(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
