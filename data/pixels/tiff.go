package pixels

import (
	"context"
	"encoding/binary"
	"fmt"
	"image"

	"golang.org/x/image/tiff"
)

// tiffLayout is how a TIFF's first image is cut into strips or tiles, each of
// which is compressed by itself.
type tiffLayout struct {
	blocks, blockPixels int64
	compressed, planar  bool
}

// The tags that tell it.
const (
	tagWidth, tagHeight         = 256, 257
	tagCompression              = 259
	tagRowsPerStrip             = 278
	tagPlanar                   = 284
	tagTileWidth, tagTileHeight = 322, 323
)

// layoutTIFF reads the first directory. What is missing or damaged is left to the
// decoder, which words the error.
func layoutTIFF(file []byte) tiffLayout {
	tags := tiffTags(file)
	w, h := tags[tagWidth], tags[tagHeight]
	bw, bh := w, h
	if rows := tags[tagRowsPerStrip]; rows > 0 {
		bh = min(rows, h)
	}
	if tags[tagTileWidth] > 0 {
		bw, bh = tags[tagTileWidth], tags[tagTileHeight]
	}
	if bw < 1 || bh < 1 {
		return tiffLayout{}
	}
	return tiffLayout{
		blocks: ((w + bw - 1) / bw) * ((h + bh - 1) / bh), blockPixels: bw * bh,
		compressed: tags[tagCompression] > 1, planar: tags[tagPlanar] == 2,
	}
}

// tiffTags returns the first value of each tag of the first directory that has
// whole numbers.
func tiffTags(b []byte) map[uint16]int64 {
	const entry = 12
	tags := map[uint16]int64{}
	if len(b) < 8 {
		return tags
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return tags
	}
	count := int64(order.Uint16(b[at:]))
	for e := at + 2; count > 0 && e+entry <= int64(len(b)); count, e = count-1, e+entry {
		value := b[e+8 : e+entry]
		if size := map[uint16]uint32{1: 1, 3: 2, 4: 4}[order.Uint16(b[e+2:])]; order.Uint32(b[e+4:])*size > 4 {
			place := int64(order.Uint32(value))
			if place+4 > int64(len(b)) {
				continue
			}
			value = b[place : place+4]
		}
		switch order.Uint16(b[e+2:]) {
		case 1:
			tags[order.Uint16(b[e:])] = int64(value[0])
		case 3:
			tags[order.Uint16(b[e:])] = int64(order.Uint16(value))
		case 4:
			tags[order.Uint16(b[e:])] = int64(order.Uint32(value))
		}
	}
	return tags
}

// tiffHeader reads the size. The decoder unpacks a block at a time, to at most 8
// bytes a pixel while its memory doubles, and lists all blocks' places.
func tiffHeader(file []byte) (header, error) {
	h, err := headerBy(tiff.DecodeConfig)(file)
	if err != nil {
		return h, err
	}
	const unpacked, place = 2 * 8, 2 * 8
	l := layoutTIFF(file)
	h.memory += min(l.blockPixels, int64(h.w+16)*int64(h.h+16))*unpacked + l.blocks*place
	return h, nil
}

// decodeTIFF bounds the number of blocks: for each a decompressor is made, which
// costs as much as thousands of pixels.
func decodeTIFF(ctx context.Context, file []byte) (image.Image, error) {
	const plain, packed = 1 << 6, 1 << 12 // samples that could be decoded meanwhile
	l, tags := layoutTIFF(file), tiffTags(file)
	if l.planar {
		return nil, kindError("its colors lie in planes of their own")
	}
	each := int64(plain)
	if l.compressed {
		each = packed
	}
	w, h := tags[tagWidth], tags[tagHeight]
	if err := checkWork(l.blocks*each, w*h, fmt.Sprintf("%d strips or tiles of %d x %d pixels, with what it takes to open each,", l.blocks, w, h)); err != nil {
		return nil, err
	}
	return tiff.Decode(&watched{ctx: ctx, file: file})
}
