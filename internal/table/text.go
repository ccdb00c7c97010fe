package table

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/vernier-ml/vernier/internal/sums"
	"github.com/vernier-ml/vernier/internal/unpack"
)

// MaxBytes bounds the size of a table, unpacked.
const MaxBytes = 1 << 30

// ReadFile returns the bytes of a file, unpacked if it is compressed by gzip or bzip2. If there is a
// checksum beside it, in path.sha256, they agree.
func ReadFile(path string) ([]byte, error) {
	if err := sums.Check(path); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// Without O_NONBLOCK a named pipe that nobody writes to would never open. (One that
	// somebody does is how shells put a command in the place of a file.)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := readBounded(f)
	switch {
	case err != nil:
	case bytes.HasPrefix(b, []byte("\x1f\x8b")):
		var z *unpack.Gzip
		if z, err = unpack.NewGzip(bytes.NewReader(b)); err == nil {
			if b, err = readBounded(z); err == nil && z.Surplus() {
				err = unpack.ErrSurplus
			}
		}
	case bytes.HasPrefix(b, []byte("BZh")) && len(b) > 9 && b[4] == 0x31: // not a word of a text
		b, err = readBounded(bzip2.NewReader(bytes.NewReader(b)))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

func readBounded(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err == nil && len(b) > MaxBytes {
		err = fmt.Errorf("more than %d bytes, which is too large for a table", MaxBytes)
	}
	return b, err
}

// Text decodes a file: UTF-8 and UTF-16 with or without byte order mark, and what
// is neither as Windows-1252, of which Latin-1 is a part; latin reports the last. Line ends
// become "\n".
func Text(b []byte) (text string, latin bool, err error) {
	if kind := foreign(b); kind != "" {
		return "", false, errors.New(kind)
	}
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")), zerosAt(b, 1):
		b, err = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(b)
	case bytes.HasPrefix(b, []byte("\xfe\xff")), zerosAt(b, 0):
		b, err = unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Bytes(b)
	case !utf8.Valid(b):
		latin = true
		b, err = charmap.Windows1252.NewDecoder().Bytes(b)
	}
	if err != nil {
		return "", false, err
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return "", false, errors.New("not a text: it holds bytes of zero; save the table as CSV in UTF-8")
	}
	text = strings.TrimPrefix(string(b), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.ReplaceAll(text, "\r", "\n"), latin, nil
}

// zerosAt reports whether b looks like UTF-16 of a text that is mostly Latin: every
// second byte of its beginning, from at on, is zero, and no other is.
func zerosAt(b []byte, at int) bool {
	b = b[:min(len(b)&^1, 512)]
	zeros := 0
	for i, c := range b {
		if c == 0 {
			if i&1 != at {
				return false
			}
			zeros++
		}
	}
	return len(b) > 1 && 4*zeros > len(b)
}

// foreign names a kind of file that is no text but often taken for a table, and
// says what to do; "" if b is of none.
func foreign(b []byte) string {
	const (
		webPage      = "a web page, not a text table: a download saved it in the table's place; fetch the table again"
		annexPointer = "a git-annex pointer, which stands for the table: fetch the table with git annex get"
	)
	for _, f := range []struct{ head, what string }{
		{"PK\x03\x04", "a workbook (.xlsx, .ods) or an archive, not a text table: save the sheet as CSV"},
		{"\xd0\xcf\x11\xe0", "an Excel workbook (.xls), not a text table: save the sheet as CSV"},
		{"PAR1", "a Parquet file, not a text table: write it as CSV"},
		{"\x89HDF", "an HDF5 file, not a text table: write it as CSV"},
		{"\x93NUMPY", "a NumPy file, not a text table: write it as CSV, for example with numpy.savetxt"},
		{"MATLAB ", "a MATLAB file, not a text table: write it as CSV, for example with writetable"},
		{"SQLite format", "an SQLite database, not a text table: write the table as CSV"},
		{"\xfd7zXZ", "compressed by xz: unpack it, or compress it by gzip"},
		{"\x28\xb5\x2f\xfd", "compressed by Zstandard: unpack it, or compress it by gzip"},
	} {
		if bytes.HasPrefix(b, []byte(f.head)) {
			return f.what
		}
	}
	start := strings.ToLower(string(bytes.TrimSpace(bytes.TrimPrefix(b[:min(len(b), 256)], []byte("\ufeff")))))
	for _, f := range []struct{ head, what string }{
		{"<!doctype", webPage}, {"<html", webPage}, {"<head", webPage}, {"<body", webPage}, {"<script", webPage}, {"<!--", webPage},
		{"<?xml", "XML or a web page, not a text table: a download may have saved it in the table's place"},
		{"version https://git-lfs.github.com/spec/", "a Git LFS pointer, which stands for the table: fetch the table with git lfs pull"},
		{"/annex/objects/", annexPointer}, {"../.git/annex/objects/", annexPointer}, {".git/annex/objects/", annexPointer},
	} {
		if strings.HasPrefix(start, f.head) {
			return f.what
		}
	}
	return ""
}

// LatinBytes undoes what Text does to a text in Windows-1252. What has no place in
// it stays as it is.
func LatinBytes(text string) string {
	b, err := charmap.Windows1252.NewEncoder().String(text)
	if err != nil {
		return text
	}
	return b
}
