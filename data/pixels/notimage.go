package pixels

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// foreignError says what a file is that no decoder reads. errors.Is finds ErrNotImage.
type foreignError struct{ what string }

func (e *foreignError) Error() string { return e.what }

// Is makes it one kind of ErrNotImage.
func (e *foreignError) Is(target error) bool { return target == ErrNotImage }

// foreignHead is how many bytes of a file are looked at to say what it is.
const foreignHead = 4096

// notImage names what a file begins like, and what to do about it.
func notImage(file []byte) error {
	head := file[:min(len(file), foreignHead)]
	if name := pictureFormat(head); name != "" {
		return &foreignError{name + ", a format that is not read: convert it to JPEG or PNG"}
	}
	if what := otherFile(head); what != "" {
		return &foreignError{"not an image: " + what}
	}
	if text, ok := plainText(head); ok {
		return &foreignError{"not an image: " + textFile(text)}
	}
	return fmt.Errorf("%w: it begins with the bytes % x", ErrNotImage, head[:min(len(head), 8)])
}

// magic is how files of a kind begin, from the byte at.
type magic struct {
	at    int
	bytes string
	name  string
}

func firstMagic(head []byte, magics []magic) string {
	for _, m := range magics {
		if len(head) >= m.at && bytes.HasPrefix(head[m.at:], []byte(m.bytes)) {
			return m.name
		}
	}
	return ""
}

// pictureFormat names the formats of pictures that are not read.
func pictureFormat(head []byte) string {
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		return mediaFormat(head)
	}
	if len(head) > 2 && head[0] == 'P' && '1' <= head[1] && head[1] <= '7' && unicode.IsSpace(rune(head[2])) {
		return "a picture of the PNM family (PBM, PGM, PPM, PAM)"
	}
	if isSVG(head) {
		return "an SVG drawing"
	}
	return firstMagic(head, []magic{
		{0, "\xff\x0a", "a JPEG XL picture"}, {0, "\x00\x00\x00\x0cJXL ", "a JPEG XL picture"},
		{0, "\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"}, {0, "\xff\x4f\xff\x51", "a JPEG 2000 picture"},
		{0, "8BPS", "a Photoshop document"}, {0, "\x00\x00\x01\x00", "a Windows icon"}, {0, "v/1\x01", "an OpenEXR picture"},
		{0, "#?RADIANCE", "a Radiance HDR picture"}, {0, "qoif", "a QOI picture"}, {0, "DDS ", "a DirectDraw surface"},
		{0, "II\xbc\x01", "a JPEG XR picture"}, {0, "IIU\x00", "a camera's raw file"}, {0, "IIRO", "a camera's raw file"}, {0, "FUJIFILMCCD-RAW", "a camera's raw file"},
		{128, "DICM", "a DICOM picture"}, {0, "SIMPLE  =", "a FITS picture"}, {0, "FLIF", "a FLIF picture"}, {0, "BPG\xfb", "a BPG picture"},
	})
}

// mediaFormat reads the brands of a file of the ISO base media format.
func mediaFormat(head []byte) string {
	brands := head[8:min(len(head), max(12, int(min(binary.BigEndian.Uint32(head), foreignHead))))]
	for i := 0; i+4 <= len(brands); i += 4 {
		switch string(brands[i : i+4]) {
		case "avif", "avis":
			return "an AVIF picture"
		case "heic", "heix", "heim", "heis", "hevc", "hevx":
			return "a HEIC picture, as phones take them"
		case "crx ":
			return "a camera's raw file"
		}
	}
	if strings.HasPrefix(string(brands), "mif1") || strings.HasPrefix(string(brands), "msf1") {
		return "a HEIF picture"
	}
	return ""
}

func isSVG(head []byte) bool {
	text, ok := plainText(head)
	return ok && strings.HasPrefix(text, "<") && strings.Contains(strings.ToLower(text), "<svg") && !strings.Contains(strings.ToLower(text), "<html")
}

// otherFile names files that hold something else than a picture.
func otherFile(head []byte) string {
	if len(bytes.Trim(head, "\x00")) == 0 {
		return "bytes that are all zero, as a copy or download leaves them that broke off; fetch the image again"
	}
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		return "a film; take pictures out of it"
	}
	const archive = "; unpack it"
	return firstMagic(head, []magic{
		{0, "%PDF-", "a PDF document; export its pages or pictures as JPEG or PNG"}, {0, "%!PS", "a PostScript document; export its pages as JPEG or PNG"},
		{0, "\x1a\x45\xdf\xa3", "a film; take pictures out of it"}, {0, "FLV\x01", "a film; take pictures out of it"}, {8, "AVI LIST", "a film; take pictures out of it"},
		{8, "WAVE", "a sound recording"}, {0, "ID3", "a sound recording"}, {0, "OggS", "a sound recording or film"}, {0, "fLaC", "a sound recording"},
		{0, "PK\x03\x04", "a zip archive" + archive}, {0, "PK\x05\x06", "an empty zip archive"}, {0, "\x1f\x8b", "a gzip file" + archive}, {0, "BZh", "a bzip2 file" + archive},
		{0, "\xfd7zXZ\x00", "an xz file" + archive}, {0, "7z\xbc\xaf\x27\x1c", "a 7z archive" + archive}, {0, "Rar!\x1a\x07", "a RAR archive" + archive},
		{0, "\x28\xb5\x2f\xfd", "a Zstandard file" + archive}, {257, "ustar", "a tar archive" + archive},
		{0, "\x93NUMPY", "a NumPy array; save it as PNG"}, {0, "\x89HDF\r\n", "an HDF5 file"}, {0, "PAR1", "a Parquet table"}, {0, "SQLite format 3", "an SQLite database"},
		{0, "\x00\x05\x16\x07", "what macOS keeps beside a file (AppleDouble); the image is the file without ._ in its name"},
		{0, "L\x00\x00\x00\x01\x14\x02\x00", "a shortcut of Windows; copy the file that it stands for"}, {0, "\x7fELF", "a program"}, {0, "MZ", "a program of Windows"},
		{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of Microsoft Office, or Thumbs.db"}, {0, "\xff\xfe", "text in UTF-16"}, {0, "\xfe\xff", "text in UTF-16"},
	})
}

// plainText returns the text that a file begins with, without white space before it.
func plainText(head []byte) (string, bool) {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	for cut := 0; cut < utf8.UTFMax && len(head) == foreignHead-cut && !utf8.Valid(head); cut++ { // the last character may be cut
		head = head[:len(head)-1]
	}
	if !utf8.Valid(head) {
		return "", false
	}
	text := strings.TrimLeftFunc(string(head), unicode.IsSpace)
	for _, r := range text {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return "", false
		}
	}
	return text, text != ""
}

// standIn says what stands in an image's place, and how to get the image; "" if it is
// nothing of the kind.
func standIn(text string) string {
	low := strings.ToLower(text)
	for _, page := range []string{"<!doctype html", "<html", "<head", "<body", "<script", "<!-- "} {
		if strings.HasPrefix(low, page) || strings.HasPrefix(low, "<?xml") && strings.Contains(low, "<html") {
			return "a web page, which a download saved in its place; fetch the image again"
		}
	}
	switch {
	case strings.HasPrefix(text, "version https://git-lfs.github.com/spec/"):
		return "a Git LFS pointer, which stands for the image; fetch the image with git lfs pull"
	case strings.HasPrefix(text, "/annex/objects/"), strings.Contains(text, ".git/annex/objects/"):
		return "a git-annex pointer, which stands for the image; fetch the image with git annex get"
	case strings.HasPrefix(text, "[InternetShortcut]"):
		return "a shortcut to a web address; fetch the image that it stands for"
	}
	return ""
}

// textFile says what kind of text a file is.
func textFile(text string) string {
	if what := standIn(text); what != "" {
		return what
	}
	switch {
	case strings.HasPrefix(text, "<"):
		return fmt.Sprintf("an XML document that begins %q; a download may have saved it in the image's place", beginning(text))
	case strings.HasPrefix(text, "data:image/"):
		return "an image written as text (base64); decode it into a file"
	}
	return fmt.Sprintf("text that begins %q", beginning(text))
}

func beginning(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if r := []rune(strings.TrimSpace(line)); len(r) > 30 {
		return string(r[:30]) + "..."
	}
	return strings.TrimSpace(line)
}
