package zipfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// records is an archive of nothing but a directory: n entries of one content, which is
// not there, and the count of them that the end states.
func records(n int, stated uint16) []byte {
	one := make([]byte, 46+1)
	copy(one, "PK\x01\x02")
	binary.LittleEndian.PutUint16(one[28:], 1)
	one[46] = 'a'
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[10:], stated)
	binary.LittleEndian.PutUint32(end[12:], uint32(n*len(one)))
	return append(bytes.Repeat(one, n), end...)
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Package zip takes all entries that follow each other, whatever number the end states.
func TestAnArchiveOfLittleButDirectoryIsRefusedWithLittleMemory(t *testing.T) {
	for _, stated := range []uint16{0, 1, 1 << 15, 0xffff} {
		file := records(1<<19, stated) // 24 MB
		var err error
		used := allocated(func() { _, err = NewReader(bytes.NewReader(file), int64(len(file))) })
		if !errors.Is(err, ErrDirectory) || !strings.Contains(err.Error(), "of its 24641558 bytes") {
			t.Errorf("%d stated: %v", stated, err)
		}
		if used > 4*uint64(len(file))+1<<20 {
			t.Errorf("%d stated: %d bytes of memory for a file of %d", stated, used, len(file))
		}
	}
	small := records(1000, 1000)
	if z, err := NewReader(bytes.NewReader(small), int64(len(small))); err != nil || len(z.File) != 1000 {
		t.Errorf("a directory of 47 kB: %v", err)
	}
}

// Files of a few bytes with long names are the largest share of directory that a
// program writes.
func TestArchivesOfManySmallFilesAreRead(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.SetComment(strings.Repeat("c", 0xffff))
	const n = 70_000 // more than 16 bits
	for i := range n {
		f, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("a/data/%d", i), Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, "1234"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(z.File) != n {
		t.Fatalf("%v", err)
	}
	f, err := z.File[n-1].Open()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(f); string(text) != "1234" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWhatIsNoArchiveIsPackageZipsError(t *testing.T) {
	for _, text := range []string{"", "PK\x03\x04abcdefgh", strings.Repeat("x", 1<<20)} {
		if _, err := NewReader(strings.NewReader(text), int64(len(text))); !errors.Is(err, zip.ErrFormat) {
			t.Errorf("%.10q: %v", text, err)
		}
	}
}
