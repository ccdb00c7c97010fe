package pixels

import (
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"errors"
	"fmt"
	"image/color"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

// spelled is a picture: a letter is a pixel of its color.
func spelled(rows string, colors map[byte][3]uint8) *RGB {
	lines := strings.Fields(rows)
	m := NewRGB(len(lines[0]), len(lines))
	for y, line := range lines {
		for x := range line {
			c := colors[line[x]]
			copy(m.Row(y)[3*x:], c[:])
		}
	}
	return m
}

func shades() map[byte][3]uint8 {
	return map[byte][3]uint8{'.': {}, 'r': {255, 0, 0}, 'g': {0, 255, 0}, 'b': {0, 0, 255}, 'w': {255, 255, 255}, 'm': {127, 127, 127}, 'h': {128, 128, 128}}
}

// samePixels decodes a file and compares it with a spelled picture.
func samePixels(t *testing.T, name string, file []byte, rows string) {
	t.Helper()
	want := spelled(rows, shades())
	got, err := Decode(file, Options{})
	if err != nil {
		t.Errorf("%s: %v", name, err)
	} else if got.W != want.W || got.H != want.H || !bytes.Equal(got.Pix, want.Pix) {
		t.Errorf("%s: %d x %d %v\nwant %d x %d %v", name, got.W, got.H, got.Pix, want.W, want.H, want.Pix)
	}
}

// bmpFile puts a head of the given size before what follows it. extra are masks
// or a palette, as 32-bit numbers.
func bmpFile(head, w, h, bits, packing, used int, extra []uint32, pixels string) []byte {
	d := make([]byte, head)
	binary.LittleEndian.PutUint32(d, uint32(head))
	put16 := func(at, v int) { binary.LittleEndian.PutUint16(d[at:], uint16(v)) }
	put32 := func(at, v int) {
		if at+4 <= head {
			binary.LittleEndian.PutUint32(d[at:], uint32(v))
		}
	}
	var behind []byte
	if head == bmpCore {
		put16(4, w)
		put16(6, h)
		put16(8, 1)
		put16(10, bits)
		for _, c := range extra {
			behind = append(behind, byte(c), byte(c>>8), byte(c>>16))
		}
	} else {
		put32(4, w)
		put32(8, h)
		put16(12, 1)
		put16(14, bits)
		put32(16, packing)
		put32(32, used)
		for i, c := range extra {
			if head > bmpInfo && bits > 8 {
				put32(bmpInfo+4*i, int(c))
			} else {
				behind = binary.LittleEndian.AppendUint32(behind, c)
			}
		}
	}
	file := []byte("BM")
	file = binary.LittleEndian.AppendUint32(file, uint32(bmpFileHead+len(d)+len(behind)+len(pixels)))
	file = append(file, 0, 0, 0, 0)
	file = binary.LittleEndian.AppendUint32(file, uint32(bmpFileHead+len(d)+len(behind)))
	return append(append(append(file, d...), behind...), pixels...)
}

func TestEveryKindOfBMP(t *testing.T) {
	palette := []uint32{0x000000, 0xff0000, 0x00ff00, 0x0000ff}
	padded := append(append([]uint32(nil), palette...), make([]uint32, 12)...)
	for name, c := range map[string]struct {
		file []byte
		rows string
	}{
		"1 bit": {bmpFile(40, 3, 2, 1, 0, 0, []uint32{0, 0xffffff}, "\xa0\x00\x00\x00\x40\x00\x00\x00"), ".w. w.w"},
		// Rows from the top, and the last without its padding.
		"1 bit from the top":  {bmpFile(40, 3, -2, 1, 0, 0, []uint32{0, 0xffffff}, "\xa0\x00\x00\x00\x40"), "w.w .w."},
		"4 bits":              {bmpFile(40, 3, 1, 4, 0, 4, palette, "\x12\x30\x00\x00"), "rgb"},
		"4 bits, 16 colors":   {bmpFile(108, 3, 1, 4, 0, 0, padded, "\x12\x30\x00\x00"), "rgb"},
		"8 bits":              {bmpFile(40, 3, 1, 8, 0, 4, palette, "\x01\x02\x03\x00"), "rgb"},
		"a short palette":     {bmpFile(40, 3, 1, 8, 0, 2, palette[:2], "\x01\x09\x01\x00"), "r.r"},
		"OS/2, 4 bits":        {bmpFile(12, 3, 2, 4, 0, 0, padded, "\x12\x30\x00\x00\x33\x10\x00\x00"), "bbr rgb"},
		"OS/2, 24 bits":       {bmpFile(12, 1, 1, 24, 0, 0, nil, "\x00\x00\xff\x00"), "r"},
		"OS/2 of 16 bytes":    {bmpFile(16, 1, 1, 24, 0, 0, nil, "\xff\x00\x00\x00"), "b"},
		"OS/2 of 64 bytes":    {bmpFile(64, 3, 1, 8, 0, 4, palette, "\x01\x02\x03\x00"), "rgb"},
		"16 bits":             {bmpFile(40, 4, 1, 16, 0, 0, nil, "\x00\x7c\xe0\x03\x1f\x00\xff\x7f"), "rgbw"},
		"16 bits, masks":      {bmpFile(40, 4, 1, 16, 3, 0, []uint32{0xf800, 0x7e0, 0x1f}, "\x00\xf8\xe0\x07\x1f\x00\xff\xff"), "rgbw"},
		"16 bits, all masks":  {bmpFile(40, 2, 1, 16, 6, 0, []uint32{0xf00, 0xf0, 0xf, 0xf000}, "\x00\xff\xf0\x00"), "rg"},
		"24 bits":             {bmpFile(40, 1, 2, 24, 0, 0, nil, "\x00\x00\xff\x00\x00\xff\x00\x00"), "g r"},
		"32 bits":             {bmpFile(40, 2, 1, 32, 0, 0, nil, "\x00\x00\xff\x07\x00\xff\x00\x00"), "rg"},
		"32 bits, masks":      {bmpFile(56, 2, 1, 32, 3, 0, []uint32{0xff, 0xff00, 0xff0000, 0xff000000}, "\xff\x00\x00\xff\x00\x00\xff\x00"), "rb"},
		"10 bits a color":     {bmpFile(108, 2, 1, 32, 3, 0, []uint32{0x3ff00000, 0xffc00, 0x3ff, 0}, "\x00\x00\xf0\x3f\xff\x03\x00\x00"), "rb"},
		"runs of 8 bits":      {bmpFile(40, 4, 2, 8, 1, 4, palette, "\x03\x01\x01\x02\x00\x00\x00\x03\x01\x02\x03\x00\x00\x01"), "rgb. rrrg"},
		"runs of 4 bits":      {bmpFile(40, 5, 2, 4, 2, 4, palette, "\x05\x12\x00\x00\x00\x05\x12\x31\x20\x00\x00\x01"), "rgbrg rgrgr"},
		"runs with gaps":      {bmpFile(40, 3, 3, 8, 1, 4, palette, "\x01\x01\x00\x02\x01\x02\x01\x03\x00\x01"), "..b ... r.."},
		"a run beyond":        {bmpFile(40, 2, 2, 8, 1, 4, palette, "\x09\x01\x00\x00\x09\x02"), "gg rr"},
		"a run to the end":    {bmpFile(40, 2, 1, 8, 1, 4, palette, "\x02\x01"), "rr"},
		"no place of pixels":  {withPlace(bmpFile(40, 1, 1, 24, 0, 0, nil, "\x00\xff\x00\x00"), 0), "g"},
		"a gap before pixels": {withPlace(bmpFile(40, 1, 1, 24, 0, 0, nil, "####\x00\xff\x00\x00"), 58), "g"},
	} {
		samePixels(t, name, c.file, c.rows)
	}
}

func withPlace(file []byte, at int) []byte {
	binary.LittleEndian.PutUint32(file[10:], uint32(at))
	return file
}

func TestKindsThatAreNotReadAreNamed(t *testing.T) {
	apple := imagetest.EncodePNG(t, noisy(2, 2, 1))
	apple = append(append(bytes.Clone(apple[:8]), "\x00\x00\x00\x04CgBI\x50\x00\x20\x02\x00\x00\x00\x00"...), apple[8:]...)
	cmyk := imagetest.EncodeTIFF(t, noisy(2, 2, 1))
	planar := bytes.Clone(cmyk)
	setTag(cmyk, 262, 262, 5)
	setTag(planar, 296, tagPlanar, 2) // in place of the unit of its resolution
	precise := imagetest.EncodeJPEG(t, noisy(8, 8, 1))
	precise[bytes.Index(precise, []byte{0xff, 0xc0})+4] = 12
	for says, file := range map[string][]byte{
		"TIFF of a kind that is not read: its colors lie":            planar,
		"BMP of a kind that is not read: a JPEG inside":              bmpFile(40, 1, 1, 0, 4, 0, nil, "xxxx"),
		"BMP of a kind that is not read: a PNG inside":               bmpFile(40, 1, 1, 0, 5, 0, nil, "xxxx"),
		"BMP of a kind that is not read: packed by Huffman codes":    bmpFile(64, 1, 1, 1, 3, 0, nil, "xxxx"),
		"BMP of a kind that is not read: 64 bits":                    bmpFile(40, 1, 1, 64, 0, 0, nil, "xxxxxxxx"),
		"PNM of a kind that is not read: samples are floating-point": []byte("PF\n1 1\n-1.0\n"),
		"PNG of a kind that is not read: of Apple's own form":        apple,
		"TIFF of a kind that is not read: tiff: unsupported feature": cmyk,
		"JPEG of a kind that is not read: unsupported JPEG feature":  precise,
	} {
		_, err := Decode(file, Options{})
		if !errors.Is(err, ErrUnsupported) || !strings.HasPrefix(err.Error(), says) || !strings.HasSuffix(err.Error(), "; save it as PNG or JPEG") {
			t.Errorf("%v\nwant %s", err, says)
		}
	}
}

// setTag replaces an entry of a TIFF's directory by another.
func setTag(b []byte, tag, by, value uint16) {
	at := int(binary.LittleEndian.Uint32(b[4:]))
	for e := at + 2; e+12 <= len(b); e += 12 {
		if binary.LittleEndian.Uint16(b[e:]) == tag {
			binary.LittleEndian.PutUint16(b[e:], by)
			binary.LittleEndian.PutUint16(b[e+8:], value)
		}
	}
}

func TestEveryKindOfPNM(t *testing.T) {
	for name, c := range map[string]struct{ file, rows string }{
		"PBM":                {"P1\n# a comment\n3 2\n1 0 1\n0\t1 0\n", ".w. w.w"},
		"PBM without blanks": {"P1 3 2 101010", ".w. w.w"},
		"raw PBM":            {"P4\n3 2\n\xa0\x40", ".w. w.w"},
		"PGM":                {"P2\n3 1\n15\n0 15 7\n", ".w" + "\x01"},
		"PGM, comments":      {"P2#x\n3#y\n1\n255 # z\n0 255#end\n128", ".wh"},
		"raw PGM":            {"P5\n3 1\n255\n\x00\xff\x80", ".wh"},
		"raw PGM of 16 bits": {"P5 3 1 65535\n\x00\xff\xff\x00\x80\x7f", ".wh"},
		"raw PGM of 10 bits": {"P5 3 1 1023\n\x00\x00\x03\xff\x02\x01", ".wh"},
		"PPM":                {"P3\n2 1 255\n255 0 0 0 255 0", "rg"},
		"raw PPM":            {"P6\n2 1\n255\n\xff\x00\x00\x00\x00\xff", "rb"},
		"raw PPM of 16 bits": {"P6 1 1 65535\r\x00\x00\xff\xff\x00\x00", "g"},
		"two in a file":      {"P6\n1 1\n255\n\xff\x00\x00P6\n1 1\n255\n\x00\xff\x00", "r"},
		"PAM":                {"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n\xff\x00\x00\x00\x00\xff", "rb"},
		"PAM with alpha":     {"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n\xff\x00\x00\x00", "r"},
		"PAM of bits":        {"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE\nENDHDR\n\x00\x01", ".w"},
	} {
		if name == "PGM" { // 7 of 15 is 119
			m, err := Decode([]byte(c.file), Options{})
			if err != nil || !bytes.Equal(m.Pix, []uint8{0, 0, 0, 255, 255, 255, 119, 119, 119}) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		samePixels(t, name, []byte(c.file), c.rows)
	}
	for says, file := range map[string]string{
		"damaged PNM: the file ends too early":         "P5 3 1 255\n\x00",
		"damaged PNM: \"x\" is no number":              "P2 x 1 255 0",
		"image without pixels: 0 x 1":                  "P5 0 1 255\n",
		"damaged PNM: \"70000\" is no number":          "P5 1 1 70000\n\x00",
		"damaged PNM: '2' is no bit":                   "P1 2 1 12",
		"too large: 100000 x 100000 pixels":            "P5 100000 100000 255\n",
		"damaged PNM: \"999999999999999\" is no numbe": "P5 999999999999999 1 255\n",
		"PNM of a kind that is not read: 7 channels":   "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 7\nMAXVAL 255\nENDHDR\n",
		"damaged PNM: \"COLOR\" in its head":           "P7\nCOLOR 1\n",
		// As netpbm. (Pillow refuses such samples as text and takes them for the largest as bytes.)
		"damaged PNM: a sample is 300, and its head says that the largest is 255":   "P2 1 1 255 300",
		"damaged PNM: a sample is 200, and its head says that the largest is 100":   "P5 2 1 100\n\x00\xc8",
		"damaged PNM: a sample is 101, and its head says that the largest is 100":   "P6 1 1 100\n\x00\x64\x65",
		"damaged PNM: a sample is 1024, and its head says that the largest is 1023": "P5 1 1 1023\n\x04\x00",
		"damaged PNM: a sample is 255, and its head says that the largest is 1":     "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 1\nENDHDR\n\xff",
	} {
		if _, err := Decode([]byte(file), Options{}); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%q: %v, want %s", file, err, says)
		}
	}
}

// gifOf joins parts of a GIF: the screen of w x h, a palette of 4, then the rest.
func gifOf(w, h int, palette bool, rest ...string) []byte {
	b := append([]byte("GIF89a"), byte(w), 0, byte(h), 0, 0x11, 0, 0)
	if palette {
		b[10] |= 0x80
		b = append(b, "\x00\x00\x00\xff\x00\x00\x00\xff\x00\x00\x00\xff"...)
	}
	return append(b, strings.Join(rest, "")...)
}

// gifImage is a frame at (x, y) of w x h, with pixels as indices.
func gifImage(x, y, w, h int, flags byte, indices string) string {
	var packed bytes.Buffer
	z := lzw.NewWriter(&packed, lzw.LSB, 2)
	z.Write([]byte(indices))
	z.Close()
	b := []byte{',', byte(x), 0, byte(y), 0, byte(w), 0, byte(h), 0, flags, 2}
	return string(b) + string([]byte{byte(packed.Len())}) + packed.String() + "\x00"
}

func TestGIFsAreShownAsBrowsersDo(t *testing.T) {
	control := "!\xf9\x04\x01\x00\x00\x02\x00" // index 2 is transparent
	frame := gifImage(0, 0, 2, 2, 0, "\x00\x01\x02\x03")
	cutEnd := frame[:len(frame)-1]
	for name, c := range map[string]struct {
		file []byte
		rows string
	}{
		"usual":                  {gifOf(2, 2, true, frame, ";"), ".r gb"},
		"surplus pixels":         {gifOf(2, 2, true, gifImage(0, 0, 2, 2, 0, "\x00\x01\x02\x03\x01\x01\x01"), ";"), ".r gb"},
		"no trailer":             {gifOf(2, 2, true, frame), ".r gb"},
		"no end of blocks":       {gifOf(2, 2, true, cutEnd), ".r gb"},
		"a cut second frame":     {gifOf(2, 2, true, frame, frame[:15]), ".r gb"},
		"damage behind":          {gifOf(2, 2, true, frame, "\x77\x77"), ".r gb"},
		"bytes between":          {gifOf(2, 2, true, "\x00\x00", frame, ";"), ".r gb"},
		"a comment":              {gifOf(2, 2, true, "!\xfe\x03abc\x02de\x00", frame, ";"), ".r gb"},
		"too few pixels":         {gifOf(2, 2, true, gifImage(0, 0, 2, 2, 0, "\x01\x02\x03"), ";"), "rg b."},
		"transparent":            {gifOf(2, 2, true, control, frame, ";"), ".r .b"},
		"interlaced":             {gifOf(1, 5, true, gifImage(0, 0, 1, 5, 0x40, "\x00\x01\x02\x03\x01"), ";"), ". b g r r"},
		"beyond the screen":      {gifOf(2, 2, true, gifImage(1, 1, 2, 2, 0, "\x03\x02\x01\x02"), ";"), ".. .b"},
		"outside of the screen":  {gifOf(2, 2, true, gifImage(5, 5, 2, 2, 0, "\x03\x02\x01\x02"), ";"), ".. .."},
		"larger than the screen": {gifOf(1, 1, true, gifImage(3, 3, 2, 2, 0, "\x00\x01\x02\x03"), ";"), ".r gb"},
		"a screen of no size":    {gifOf(0, 0, true, frame, ";"), ".r gb"},
		"a frame of no size":     {gifOf(2, 2, true, gifImage(0, 0, 0, 0, 0, "\x00\x01\x02\x03"), ";"), ".r gb"},
	} {
		samePixels(t, name, c.file, c.rows)
	}
	m, err := Decode(gifOf(2, 2, false, frame, ";"), Options{})
	if err != nil || !bytes.Equal(m.Pix, []uint8{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}) {
		t.Errorf("without a palette: %v", err)
	}
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"cut pixels":  {gifOf(2, 2, true, frame[:len(frame)-3]), ErrTruncated},
		"cut head":    {gifOf(2, 2, true, frame[:5]), ErrTruncated},
		"cut palette": {gifOf(2, 2, true)[:20], ErrTruncated},
		"no frame":    {gifOf(2, 2, true, ";"), ErrNoPixels},
	} {
		if _, err := Decode(c.file, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAGIFOfManyFramesCostsOne(t *testing.T) {
	frame := gifImage(0, 0, 2, 2, 0, "\x00\x01\x02\x03")
	file := gifOf(2, 2, true, strings.Repeat(frame, 100_000), ";")
	allocs := testing.AllocsPerRun(1, func() { samePixels(t, "first", file, ".r gb") })
	if allocs > 1000 {
		t.Errorf("%g allocations", allocs)
	}
}

// webpChunk is a chunk with its padding.
func webpChunk(name string, body ...[]byte) []byte {
	all := bytes.Join(body, nil)
	return append(append(append([]byte(name), imagetest.Le32(len(all))...), all...), make([]byte, len(all)&1)...)
}

func webpFile(chunks ...[]byte) []byte {
	all := bytes.Join(chunks, nil)
	return append(append(append([]byte("RIFF"), imagetest.Le32(4+len(all))...), "WEBP"...), all...)
}

// webpHead is the extended head; flags are those of the container.
func webpHead(flags byte, w, h int) []byte {
	b := make([]byte, 10)
	b[0] = flags
	put24(b[4:], w-1)
	put24(b[7:], h-1)
	return webpChunk("VP8X", b)
}

// webpFrame is a frame of one color.
func webpFrame(x, y, w, h int, c color.NRGBA) []byte {
	b := make([]byte, 16)
	put24(b, x/2)
	put24(b[3:], y/2)
	put24(b[6:], w-1)
	put24(b[9:], h-1)
	return webpChunk("ANMF", b, imagetest.EncodeWebP(w, h, c)[12:])
}

func TestAnAnimatedWebPIsItsFirstFrame(t *testing.T) {
	red, blue := color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 0, 255, 255}
	anim := webpChunk("ANIM", make([]byte, 6))
	for name, c := range map[string]struct {
		file []byte
		rows string
	}{
		"two frames":       {webpFile(webpHead(2, 2, 2), anim, webpFrame(0, 0, 2, 2, red), webpFrame(0, 0, 2, 2, blue)), "rr rr"},
		"a small frame":    {webpFile(webpHead(2, 4, 3), anim, webpFrame(2, 2, 2, 1, red)), ".... .... ..rr"},
		"notes before it":  {webpFile(webpHead(2|8, 2, 1), webpChunk("ICCP", []byte("abc")), anim, webpChunk("XYZ ", nil), webpFrame(0, 0, 2, 1, blue)), "bb"},
		"a cut second one": {webpFile(webpHead(2, 2, 2), anim, webpFrame(0, 0, 2, 2, red), webpFrame(0, 0, 2, 2, blue)[:20]), "rr rr"},
		"still, extended":  {webpFile(webpHead(0, 2, 1), webpChunk("ICCP", []byte("abc")), imagetest.EncodeWebP(2, 1, red)[12:], webpChunk("EXIF", []byte("x"))), "rr"},
		"flagged as alpha": {webpFile(webpHead(16, 2, 1), imagetest.EncodeWebP(2, 1, red)[12:]), "rr"},
		"surplus bytes":    {append(imagetest.EncodeWebP(2, 1, red), "surplus"...), "rr"},
	} {
		samePixels(t, name, c.file, c.rows)
	}
	white, err := Decode(webpFile(webpHead(2|16, 4, 1), anim, webpFrame(2, 0, 2, 1, red)), Options{Alpha: AlphaWhite})
	if want := spelled("wwrr", shades()); err != nil || !bytes.Equal(white.Pix, want.Pix) {
		t.Errorf("over white: %v", err)
	}
	for says, file := range map[string][]byte{
		"too large: 16777216 x 16777216":                  webpFile(webpHead(2, 1<<24, 1<<24), anim, webpFrame(0, 0, 2, 2, red)),
		"damaged WebP: webp: a frame outside":             webpFile(webpHead(2, 2, 2), anim, webpFrame(2, 2, 2, 2, red)),
		"damaged WebP: webp: invalid format":              webpFile(webpHead(0, 2, 2), imagetest.EncodeWebP(9000, 9000, red)[12:]),
		"damaged WebP: the file ends too early":           webpFile(webpHead(2, 2, 2), anim),
		"damaged WebP: the file ends too early ":          webpFile(webpHead(2, 2, 2), anim, webpFrame(0, 0, 2, 2, red)[:30]),
		fmt.Sprintf("damaged WebP: %v", "webp: a frame "): webpFile(webpHead(2, 2, 2), webpChunk("ANMF", make([]byte, 8))),
	} {
		if _, err := Decode(file, Options{}); err == nil || !strings.HasPrefix(err.Error(), strings.TrimSpace(says)) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}
