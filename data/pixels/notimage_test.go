package pixels

import (
	"errors"
	"strings"
	"testing"
)

func TestFilesThatAreNoImagesAreNamed(t *testing.T) {
	ftyp := func(brands ...string) string {
		b := strings.Join(brands, "")
		return string([]byte{0, 0, 0, byte(8 + len(b))}) + "ftyp" + b + "\x00\x00\x00\x08mdat"
	}
	const convert = ", a format that is not read: convert it to JPEG or PNG"
	for name, c := range map[string]struct{ file, want string }{
		"HEIC":       {ftyp("heic", "\x00\x00\x00\x00", "mif1", "heic"), "a HEIC picture, as phones take them" + convert},
		"HEIF":       {ftyp("mif1", "\x00\x00\x00\x00", "heix"), "a HEIC picture, as phones take them" + convert},
		"AVIF":       {ftyp("mif1", "\x00\x00\x00\x00", "avif", "miaf"), "an AVIF picture" + convert},
		"film":       {ftyp("isom", "\x00\x00\x02\x00", "mp41"), "not an image: a film; take pictures out of it"},
		"JPEG XL":    {"\xff\x0a\xfa\x1f", "a JPEG XL picture" + convert},
		"JXL box":    {"\x00\x00\x00\x0cJXL \r\n\x87\n", "a JPEG XL picture" + convert},
		"JPEG 2000":  {"\x00\x00\x00\x0cjP  \r\n\x87\n", "a JPEG 2000 picture" + convert},
		"SVG":        {"<?xml version='1.0'?>\n<!-- drawn -->\n<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG drawing" + convert},
		"PDF":        {"%PDF-1.7\n%\xe2\xe3", "not an image: a PDF document; export its pages or pictures as JPEG or PNG"},
		"page":       {"\n<!DOCTYPE html><html><body>404 <svg/>", "not an image: a web page, which a download saved in its place; fetch the image again"},
		"old page":   {"<HTML><HEAD>", "not an image: a web page, which a download saved in its place; fetch the image again"},
		"LFS":        {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "not an image: a Git LFS pointer, which stands for the image; fetch the image with git lfs pull"},
		"annex":      {"/annex/objects/SHA256E-s1--aa.jpg\n", "not an image: a git-annex pointer, which stands for the image; fetch the image with git annex get"},
		"S3":         {"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "not an image: an XML document that begins \"<?xml version=\\\"1.0\\\"?><Error><C...\"; a download may have saved it in the image's place"},
		"JSON":       {`{"error": "rate limit"}`, `not an image: text that begins "{\"error\": \"rate limit\"}"`},
		"text":       {"hello", `not an image: text that begins "hello"`},
		"zeros":      {strings.Repeat("\x00", 5000), "not an image: bytes that are all zero, as a copy or download leaves them that broke off; fetch the image again"},
		"zip":        {"PK\x03\x04\x14\x00", "not an image: a zip archive; unpack it"},
		"AppleDoubl": {"\x00\x05\x16\x07\x00\x02", "not an image: what macOS keeps beside a file (AppleDouble); the image is the file without ._ in its name"},
		"unknown":    {"\x01\x02\x03", ErrNotImage.Error() + ": it begins with the bytes 01 02 03"},
		"long text":  {strings.Repeat("ä", 3000), `not an image: text that begins "ääääääääääääääääääääääääääääää..."`},
	} {
		_, err := Decode([]byte(c.file), Options{})
		if err == nil || err.Error() != c.want || !errors.Is(err, ErrNotImage) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := Decode(nil, Options{}); !errors.Is(err, ErrEmptyFile) {
		t.Errorf("%v", err)
	}
}

func FuzzNotImage(f *testing.F) {
	for _, seed := range []string{"", "hello", "\x00\x00\x00\x18ftypheic", "\x00\x00\x00\x00ftyp", "P5 1", "<svg"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if err := notImage(file); !errors.Is(err, ErrNotImage) || len(err.Error()) > 500 {
			t.Errorf("%v", err)
		}
	})
}
