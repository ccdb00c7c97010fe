package pixels

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/vernier-ml/vernier/data/internal/progress"
)

const pngMagic = "\x89PNG\r\n\x1a\n"

// mendPNG makes a file that image/png reads of one that browsers and Pillow show and
// image/png refuses: bytes follow the pixels, in their stream or behind it, or the end
// chunk is missing or damaged. It returns nil unless all pixels are there and all
// checksums up to their end agree.
func mendPNG(ctx context.Context, file []byte) []byte {
	head, packed := pngChunks(file)
	const headerChunk = 8 + 13 + 4
	if packed == nil || len(head) < len(pngMagic)+headerChunk || string(head[12:16]) != "IHDR" {
		return nil
	}
	packed, err := trimPixels(ctx, packed, pngRawSize(head[16:29]))
	if err != nil {
		return nil
	}
	mended := appendChunk(bytes.Clone(head), "IDAT", packed)
	return appendChunk(mended, "IEND", nil)
}

// pngChunks returns what comes before the pixels, and the packed pixels of all chunks
// that hold some; nil if a chunk of these is damaged or cut.
func pngChunks(file []byte) (head, packed []byte) {
	at := len(pngMagic)
	for len(file) >= at+8 {
		n := int64(binary.BigEndian.Uint32(file[at:]))
		pixels := string(file[at+4:at+8]) == "IDAT"
		if packed != nil && !pixels {
			break
		}
		end := int64(at) + 8 + n
		if end+4 > int64(len(file)) || crc32.ChecksumIEEE(file[at+4:end]) != binary.BigEndian.Uint32(file[end:]) {
			return nil, nil
		}
		if pixels {
			if packed == nil {
				head = file[:at]
				packed = []byte{}
			}
			packed = append(packed, file[at+8:end]...)
		}
		at = int(end) + 4
	}
	return head, packed
}

func appendChunk(to []byte, kind string, body []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(len(body)))
	from := len(to)
	to = append(append(to, kind...), body...)
	return binary.BigEndian.AppendUint32(to, crc32.ChecksumIEEE(to[from:]))
}

// pngRawSize is how many bytes the pixels have that an IHDR chunk tells of: each row
// begins with one for its filter.
func pngRawSize(ihdr []byte) int64 {
	w, h := int64(binary.BigEndian.Uint32(ihdr)), int64(binary.BigEndian.Uint32(ihdr[4:]))
	samples := map[byte]int64{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[ihdr[9]]
	pass := func(w, h int64) int64 {
		if w <= 0 || h <= 0 {
			return 0
		}
		return h * (1 + (w*samples*int64(ihdr[8])+7)/8)
	}
	if ihdr[12] == 0 {
		return pass(w, h)
	}
	size := int64(0)
	for _, p := range [...][4]int64{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}} { // Adam7
		size += pass((w-p[0]+p[2]-1)/p[2], (h-p[1]+p[3]-1)/p[3])
	}
	return size
}

// trimPixels returns a stream of the first size bytes that are packed, and an error if
// there are fewer, if the checksum of all disagrees, or if there are far more.
func trimPixels(ctx context.Context, packed []byte, size int64) ([]byte, error) {
	r := bytes.NewReader(packed) // from which no more than the stream is read
	z, err := zlib.NewReader(r)
	if err != nil {
		return nil, err
	}
	var repacked bytes.Buffer
	w, err := zlib.NewWriterLevel(&repacked, zlib.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(w, progress.Until(ctx, z), size); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	surplus, err := io.CopyN(io.Discard, progress.Until(ctx, z), size+freeVisits)
	switch {
	case err == nil:
		return nil, ErrTooMuchWork
	case err != io.EOF:
		return nil, err
	case surplus == 0:
		return packed[:len(packed)-r.Len()], nil
	}
	return repacked.Bytes(), nil
}
