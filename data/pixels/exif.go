package pixels

import (
	"encoding/binary"
	"image"

	"github.com/disintegration/imaging"
)

// orient turns and mirrors an image so that a camera's orientation note 2..8
// (EXIF tag 274) becomes 1, upright.
func orient(m *RGB, orientation int) *RGB {
	var turn func(image.Image) *image.NRGBA
	switch orientation {
	case 2:
		turn = imaging.FlipH
	case 3:
		turn = imaging.Rotate180
	case 4:
		turn = imaging.FlipV
	case 5:
		turn = imaging.Transpose
	case 6:
		turn = imaging.Rotate270
	case 7:
		turn = imaging.Transverse
	case 8:
		turn = imaging.Rotate90
	default:
		return m
	}
	out := turn(m)
	return toRGB(out, out.Bounds(), AlphaDrop, false)
}

// exifOrientation reads the orientation from a JPEG's APP1 segment: 1..8, and 1
// where there is none or it makes no sense.
func exifOrientation(file []byte) int {
	for at := 2; at+4 <= len(file) && file[at] == 0xff; {
		marker, size := file[at+1], int(binary.BigEndian.Uint16(file[at+2:]))
		if marker == 0xda || size < 2 || at+2+size > len(file) {
			return 1
		}
		segment := file[at+4 : at+2+size]
		if marker == 0xe1 && len(segment) > 6 && string(segment[:6]) == "Exif\x00\x00" {
			return tiffOrientation(segment[6:])
		}
		at += 2 + size
	}
	return 1
}

// tiffOrientation reads tag 274 of the first directory of a TIFF structure.
func tiffOrientation(b []byte) int {
	const orientationTag, directoryEntry = 274, 12
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 1
	}
	entries := int64(order.Uint16(b[at:]))
	for e := at + 2; entries > 0 && e+directoryEntry <= int64(len(b)); entries, e = entries-1, e+directoryEntry {
		if order.Uint16(b[e:]) == orientationTag {
			if v := int(order.Uint16(b[e+8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
	}
	return 1
}
