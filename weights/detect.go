package weights

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// ErrUnknownFormat is in the chain of errors for files of no format known here.
var ErrUnknownFormat = errors.New("not a weight file")

const npyMagic = "\x93NUMPY"

// read tells the format by the first bytes and reads the description of the
// file. The extension is asked only where the content shows nothing known, so
// that the message fits what the file was meant to be.
func (f *File) read(r io.ReaderAt) error {
	if f.size == 0 {
		return fmt.Errorf("%w: the file is empty", ErrUnknownFormat)
	}
	var head [512]byte
	start := head[:min(f.size, int64(len(head)))]
	if err := readAt(r, start, 0); err != nil {
		return err
	}
	b := newBudget(f.size)
	ext := strings.ToLower(filepath.Ext(f.path))
	switch {
	case bytes.HasPrefix(start, []byte(zipLocalMagic)), bytes.HasPrefix(start, []byte(zipEndMagic)):
		return f.readZip(r, b)
	case bytes.HasPrefix(start, []byte(npyMagic)):
		return readNPY(f, r, f.size)
	case isSafetensors(start), ext == ".safetensors":
		return readSafetensors(f, r, f.size, b)
	case start[0] == 0x80:
		return readTorchLegacy(f, r, f.size, b)
	}
	return fmt.Errorf("%w: %s", ErrUnknownFormat, guess(start, ext))
}

// isSafetensors reports whether a file starts with a length and a JSON object.
func isSafetensors(start []byte) bool {
	return len(start) > 8 && start[8] == '{' && binary.LittleEndian.Uint64(start) <= maxSafetensorsHeader
}

// readZip tells a PyTorch archive from a .npz.
func (f *File) readZip(r io.ReaderAt, b *budget) error {
	z, err := openArchive(r, f.size, b)
	if err != nil {
		return err
	}
	if prefix, ok := torchPrefix(z); ok {
		return readTorchZip(f, z, prefix, b)
	}
	for i := range z.entries {
		if strings.HasSuffix(z.entries[i].Name, ".npy") {
			return readNPZ(f, z, b)
		}
	}
	if len(z.entries) == 0 && strings.EqualFold(filepath.Ext(f.path), ".npz") {
		return readNPZ(f, z, b)
	}
	return fmt.Errorf("%w: a zip archive with neither a data.pkl (PyTorch) nor arrays *.npy (NumPy) in its %d entries", ErrUnknownFormat, len(z.entries))
}

// guess says what an unknown file looks like.
func guess(start []byte, ext string) string {
	text := strings.ToLower(strings.TrimLeft(string(start), " \t\r\n\ufeff"))
	has := func(s string) bool { return strings.HasPrefix(text, s) || bytes.HasPrefix(start, []byte(s)) }
	switch {
	case has("<!doctype"), has("<html"), has("<?xml"), has("<head"):
		return "it is a web page; the download gave an error page or asked for a login"
	case has("version https://git-lfs"):
		return "it is a Git LFS pointer; fetch the file itself with git lfs pull"
	case has("\x89HDF"):
		return "it is an HDF5 (Keras) file, which is not read"
	case has("\x1f\x8b"), has("\xfd7zXZ"), has("BZh"), has("\x28\xb5\x2f\xfd"):
		return "it is compressed; unpack it first"
	case len(start) > 262 && string(start[257:262]) == "ustar":
		return "it is a tar archive (also the format of torch before 0.1.10, which is not read)"
	}
	shown := start[:min(len(start), 16)]
	switch ext {
	case ".npy":
		return fmt.Sprintf("a .npy file begins with %q, this one with %q", npyMagic, shown)
	case ".npz", ".zip":
		return fmt.Sprintf("a %s file is a zip archive and begins with %q, this one with %q", ext, "PK", shown)
	case ".pth", ".pt", ".bin", ".ckpt", ".tar":
		return fmt.Sprintf("torch.save writes a zip archive or a pickle, this file begins with %q", shown)
	}
	return fmt.Sprintf("it begins with %q; known are safetensors, PyTorch (.pth, .pt), .npy and .npz", shown)
}
