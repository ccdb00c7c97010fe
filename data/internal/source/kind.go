package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/data/pixels"
)

// archiveHead is how many bytes of a file tell which archive it is.
const archiveHead = 4096

// IsArchive looks at a file's first bytes. What cannot be read is no archive.
func IsArchive(file string) bool {
	head, err := readHead(file)
	return err == nil && kindOf(head) != ""
}

func readHead(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, archiveHead)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}

func begins(head []byte, with ...string) bool {
	return slices.ContainsFunc(with, func(w string) bool { return bytes.HasPrefix(head, []byte(w)) })
}

// kindOf is the kind of archive that begins so: zip, tar, gzip, bzip2 or "".
func kindOf(head []byte) string {
	switch {
	case begins(head, "PK\x03\x04", "PK\x05\x06"):
		return "zip"
	case begins(head, "\x1f\x8b"):
		return "gzip"
	case len(head) >= 10 && begins(head, "BZh") && begins(head[4:], "1AY&SY", "\x17\x72\x45\x38\x50\x90"):
		return "bzip2"
	case isTar(head):
		return "tar"
	}
	return ""
}

// isTar reports whether a file begins with an entry of a tar archive: those before POSIX
// have a checksum and no name of their format.
func isTar(head []byte) bool {
	const size, at, width = 512, 148, 8
	if len(head) < size {
		return false
	}
	if string(head[257:262]) == "ustar" {
		return true
	}
	want, err := strconv.ParseInt(strings.Trim(string(head[at:at+width]), " \x00"), 8, 32)
	if err != nil {
		return false
	}
	sum := int64(width * ' ')
	for i, b := range head[:size] {
		if i < at || i >= at+width {
			sum += int64(b)
		}
	}
	return sum == want
}

// notArchive says what a file is that is neither a folder nor an archive that is read, and
// what to do.
func notArchive(head []byte) string {
	const wanted = "wanted is a folder, or a .zip, .tar, .tgz or .tar.bz2 archive"
	switch {
	case len(head) == 0:
		return "an empty file: copy or fetch the archive again"
	case len(bytes.Trim(head, "\x00")) == 0:
		return "zeros, of which an empty tar archive consists, or what a copy or download left that broke off: make or fetch the archive again"
	case begins(head, "PK\x07\x08", "PK00"):
		return "the first of several files of one zip archive: unpack it and give the folder"
	}
	if what := pixels.Describe(head); strings.HasSuffix(what, "; unpack it") {
		return what + " and give the folder"
	} else if what != "" {
		return strings.NewReplacer("the image", "the archive", ", a format that is not read: convert it to JPEG or PNG", "").Replace(what) + "; " + wanted
	}
	return fmt.Sprintf("it begins with the bytes % x; %s", head[:min(len(head), 8)], wanted)
}
