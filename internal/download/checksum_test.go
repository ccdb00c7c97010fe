package download

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestAChecksumMayBeABeginningOrUnknown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "abc")
	if err := os.WriteFile(file, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	for sum, right := range map[Checksum]bool{
		"":                                      true,
		MD5("900150983cd24fb0d6963f7d28e17f72"): true, // RFC 1321, appendix A.5
		SHA256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"): true, // FIPS 180-2, appendix B.1
		SHA256("ba7816bf"): true,
		SHA256("8f01cfea"): false,
		MD5("ba7816bf"):    false,
	} {
		if err := sum.Check(); err != nil {
			t.Error(err)
		}
		if err := sum.Verify(file); right != (err == nil) || !right && !errors.Is(err, ErrWrongChecksum) {
			t.Errorf("%s: %v", sum, err)
		}
	}
	for _, sum := range []Checksum{"900150983cd24fb0d6963f7d28e17f72", "md5:900", "sha256:xyzxyzxy", "crc:12345678", MD5("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")} {
		if sum.Check() == nil {
			t.Errorf("%s is taken for a checksum", sum)
		}
	}
}
