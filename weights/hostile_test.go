package weights

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// hostileFloor is what a small file may take whatever its size; see budgetFloor.
const hostileFloor = 2 << 20

// readAll opens a file in memory and reads every tensor, keeping none.
func readAll(name string, p []byte) error {
	f, err := openBytes(name, p)
	if err != nil {
		return err
	}
	for _, x := range f.Tensors() {
		if x.checkNumeric() != nil {
			if _, err := x.Bytes(); err != nil {
				return err
			}
		} else if _, err := x.Float32(); err != nil {
			return err
		}
	}
	return nil
}

// TestHostileFilesTakeLittleMemory gives files that unfold: each must be refused,
// soon, with less memory than 5 times its size (and a floor for small files).
func TestHostileFilesTakeLittleMemory(t *testing.T) {
	const n = 1 << 20
	doubling := "]" // l0; each further list holds the one before twice
	for range 60 {
		doubling += "q\x000](h\x00h\x00e"
	}
	doublingDict := "}"
	for range 60 {
		doublingDict += "q\x000}(" + pyString("a") + "h\x00" + pyString("b") + "h\x00u"
	}
	var entries, arrays []string
	for i := range 5000 {
		entries = append(entries, fmt.Sprintf("a/data/%d", i), "")
		arrays = append(arrays, fmt.Sprintf("%d.npy", i), "\x93NUMPY\x01\x00\xff\xff{'descr")
	}
	var header, fetches strings.Builder
	for i := range n / 5 {
		fetches.WriteString("j" + string(binary.LittleEndian.AppendUint32(nil, uint32(i))))
	}
	for i := range 20000 {
		fmt.Fprintf(&header, `"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},`, i)
	}
	zeros := string(npyOf(npyHead("|u1", "(1000000000,)"), nil))
	for _, c := range []struct {
		name, file string
		content    []byte
		want       string
	}{
		{"flood of values", "x.pth", torchZip(t, strings.Repeat("N", n), nil), "memory"},
		{"flood of dictionaries", "x.pth", torchZip(t, strings.Repeat("}", n), nil), "memory"},
		{"flood of empty lists in the legacy format", "x.pth", []byte(legacyStart + strings.Repeat("]", n)), "memory"},
		{"flood of memo slots", "x.pth", torchZip(t, "N"+strings.Repeat("\x94", n), nil), "cut off"},
		{"many memo slots that are fetched", "x.pth", torchZip(t, fetches.String()+".", nil), "memory"},
		{"one list fetched many times", "x.pth", torchZip(t, "]q\x00"+strings.Repeat("h\x00", n), nil), "memory"},
		{"lists that double 60 times", "x.pth", torchZip(t, doubling+".", nil), "unfold"},
		{"dictionaries that double 60 times", "x.pth", torchZip(t, doublingDict+".", nil), "memory"},
		{"list inside itself", "x.pth", torchZip(t, "]q\x00h\x00a.", nil), "levels"},
		{"dictionary inside itself", "x.pth", torchZip(t, "}q\x00"+pyString("a")+"h\x00s.", nil), "levels"},
		{"tensor expanded to 2^40 elements", "x.pth",
			torchZip(t, pyStateDict("w", pyTensorOf("FloatStorage", 1, 0, []int{1 << 40}, []int{0})), make([]byte, 4)), "unfolds to"},
		{"storage of 2^40 elements", "x.pth",
			torchZip(t, pyStateDict("w", pyTensorOf("FloatStorage", 1<<40, 0, []int{1 << 40}, []int{1})), make([]byte, 4)), "has 4 bytes"},
		{"storage whose bytes overflow", "x.pth",
			torchZip(t, pyStateDict("w", pyTensorOf("DoubleStorage", 1<<61, 0, []int{2}, []int{1})), make([]byte, 4)), "does not fit"},
		{"storage of negative size", "x.pth",
			torchZip(t, pyStateDict("w", pyTensorOf("FloatStorage", -4, 0, []int{0}, []int{1})), make([]byte, 4)), "-4 elements"},
		{"stride that overflows", "x.pth",
			torchZip(t, pyStateDict("w", pyTensorOf("FloatStorage", 1, 0, []int{3, 3}, []int{1 << 62, 1 << 62})), make([]byte, 4)), "outside"},
		{"archive of nothing but entries", "x.pth", zipOf(t, zip.Store, entries...), "neither"},
		{"archive of records alone", "x.pth", nothingButRecords(200_000), "little but its directory"},
		{"archive that states a billion entries", "x.pth", patchZipEnd(zipOf(t, zip.Store, "a", ""), 10, 0xfffe), "damaged"},
		{"archive whose directory is larger than the file", "x.pth", patchZipEnd(zipOf(t, zip.Store, "a", ""), 12, 0xfffe), "damaged"},
		{"many broken arrays", "x.npz", zipOf(t, zip.Store, arrays...), "cut off"},
		{"array of a billion bytes in a small file", "x.npy", []byte(zeros), "cut off"},
		{"array header of 4 GB", "x.npy", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xffaaaaaaaaaaaaaa"), "cut off"},
		{"shape that overflows", "x.npy", npyOf(npyHead("<f8", "(4611686018427387904, 8)"), nil), "63 bits"},
		{"shape that overflows behind a zero", "x.npy", npyOf(npyHead("<f8", "(0, 4611686018427387904, 8)"), nil), "63 bits"},
		{"deflated zeros", "x.npz", deflatedZeros(t, 300<<20), "unfolds to"},
		{"header of many empty tensors", "x.safetensors", safetensorsOf("{"+header.String()+`"x":{}}`, nil), "no dtype"},
		{"header of one long shape", "x.safetensors", safetensorsOf(`{"a":{"dtype":"U8","shape":[`+strings.Repeat("1,", n)+"1]", nil), "more than 64"},
		{"header of brackets", "x.safetensors", safetensorsOf(strings.Repeat(`{"a":`, n/4), nil), "unknown member"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			used := allocated(func() { err = readAll(c.file, c.content) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.200v, want %q in it", err, c.want)
			}
			if limit := budgetFactor*int64(len(c.content)) + hostileFloor; used > limit {
				t.Errorf("%d bytes of memory for a file of %d, limit %d", used, len(c.content), limit)
			}
		})
	}
}

// nothingButRecords is a ZIP archive whose directory has n records of nothing.
func nothingButRecords(n int) []byte {
	record := make([]byte, zipRecordLen)
	copy(record, "PK\x01\x02")
	p := append(bytes.Repeat(record, n), make([]byte, zipEndLen)...)
	end := p[len(p)-zipEndLen:]
	copy(end, zipEndMagic)
	binary.LittleEndian.PutUint32(end[12:], uint32(n*zipRecordLen))
	return append([]byte(zipLocalMagic), p...)
}

// Lengths of what a ZIP archive consists of, without names.
const zipLocalLen, zipRecordLen, zipEndLen = 30, 46, 22

// legacyStart is what stands before the object in the legacy format.
const legacyStart = "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}."

// patchZipEnd overwrites 2 bytes of the end record.
func patchZipEnd(p []byte, at int, v uint16) []byte {
	binary.LittleEndian.PutUint16(p[len(p)-zipEndLen+at:], v)
	return p
}

// deflatedZeros is a .npz with one deflated array of zeros.
func deflatedZeros(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	e, err := w.Create("a.npy")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Write(npyOf(npyHead("|u1", fmt.Sprintf("(%d,)", n)), nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(e, zeroReader{}, int64(n)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestDeflatedArrayWithinBoundsIsRead(t *testing.T) {
	f, err := openBytes("x.npz", deflatedZeros(t, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := f.Bytes("a"); err != nil || len(p) != 1<<20 {
		t.Errorf("%d bytes, %v", len(p), err)
	}
}

func TestExpandedTensorIsReadIntoMemoryOfTheCaller(t *testing.T) {
	const n = 1 << 20 // 4 MiB from 4 bytes
	f, err := openBytes("x.pth", torchZip(t, pyStateDict("w", pyTensorOf("FloatStorage", 1, 0, []int{n}, []int{0})), floatBytes(7)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Float32("w"); err == nil {
		t.Error("Float32 unfolded it")
	}
	x, err := f.Tensor("w")
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, n)
	if err := x.ReadFloat32(dst); err != nil || dst[0] != 7 || dst[n-1] != 7 {
		t.Errorf("%v, %v, %v", dst[0], dst[n-1], err)
	}
}

func TestDamagedArchiveEntries(t *testing.T) {
	good := torchZip(t, pyStateDict("w", pyTensorOf("FloatStorage", 2, 0, []int{2}, []int{1})), floatBytes(1, 2))
	if err := readAll("good.pth", good); err != nil {
		t.Fatal(err)
	}
	data := bytes.Index(good, floatBytes(1, 2))
	local := bytes.Index(good, []byte("a/data/0")) - zipLocalLen
	record := bytes.LastIndex(good, []byte("a/data/0")) - zipRecordLen
	for _, c := range []struct {
		name string
		at   int
		with string
		want string
	}{
		{"a changed number", data, "\x01", "checksum"},
		{"no local header", local, "PK\x01\x02", "has no header"},
		{"encrypted", record + 8, "\x01", "encrypted"},
		{"another compression", record + 10, "\x0e", "method 14"},
		{"stored in fewer bytes than it has", record + 20, "\x04", "8 bytes in 4"},
		{"local header beyond the file", record + 42, "\xff\xff\xff\x7f", "has no header"},
		{"broken record", record, "XX", "damaged"},
		{"name that is not UTF-8", record + zipRecordLen, "\xff", "not UTF-8"},
		{"name of another entry", record + zipRecordLen, "a/versio", "has no entry"},
		{"deflated, by its record only", record + 10, "\x08", `"a/data/0"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := bytes.Clone(good)
			copy(p[c.at:], c.with)
			if err := readAll("x.pth", p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
	twice := zipOf(t, zip.Store, "a/data.pkl", "N.", "a/data.pkl", "N.")
	if err := readAll("x.pth", twice); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("an entry that appears twice: %v", err)
	}
}

func TestFilesThatAreNoWeightFilesAreNamed(t *testing.T) {
	tar := make([]byte, 512)
	copy(tar[257:], "ustar")
	for want, content := range map[string]string{
		"web page":             "\n<!DOCTYPE html><html>",
		"Git LFS pointer":      "version https://git-lfs.github.com/spec/v1\n",
		"HDF5":                 "\x89HDF\r\n\x1a\n",
		"compressed":           "\x1f\x8b\x08\x00",
		"tar archive":          string(tar),
		"known are":            "0123456789abcdef",
		"neither a data.pkl":   string(zipOf(t, zip.Store, "a.txt", "hello")),
		"not one that torch":   "\x80\x02K\x01.",
		"without its director": "PK\x03\x04abcdefgh",
	} {
		_, err := openBytes("file", []byte(content))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := openBytes("x.pth", []byte("junk")); !errors.Is(err, ErrUnknownFormat) {
		t.Errorf("junk: %v, want ErrUnknownFormat", err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open("no such file"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestEveryTruncationIsRefused cuts files at every length. None of the formats is
// whole without its last byte.
func TestEveryTruncationIsRefused(t *testing.T) {
	for _, name := range []string{"mixed.safetensors", "plain_dict_zip.pth", "zip_deflated.pth", "mixed_legacy.pth",
		"checkpoint_legacy.pth", "one.npy", "one_v2.npy", "dtypes.npz", "vit_google_compressed.npz"} {
		t.Run(name, func(t *testing.T) {
			p := goldenFile(t, name)
			for n := range p {
				if err := readAll(name, p[:n]); err == nil {
					t.Fatalf("the first %d of %d bytes were read without an error", n, len(p))
				}
			}
			if err := readAll(name, p); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestEveryFlippedByteIsSafe changes each byte of small files; there may or may
// not be an error, but no panic.
func TestEveryFlippedByteIsSafe(t *testing.T) {
	for _, name := range []string{"padded.safetensors", "checkpoint_zip.pth", "checkpoint_legacy.pth", "one.npy", "dtypes.npz"} {
		p := goldenFile(t, name)
		failed := 0
		for i := range p {
			for _, flip := range []byte{0x01, 0x80, 0xff} {
				p[i] ^= flip
				if readAll(name, p) != nil {
					failed++
				}
				p[i] ^= flip
			}
		}
		if failed == 0 {
			t.Errorf("%s: no change at all was noticed", name)
		}
	}
}
