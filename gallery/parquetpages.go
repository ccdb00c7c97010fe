package gallery

import (
	"bufio"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A page of a parquet file says how long it is, packed and unpacked, and the reader
// allocates as much. checkPages compares what all pages of a file claim with the
// file, before anybody does.
//
// unpackedShare is how many times the file's size the pages may claim unpacked,
// beyond unpackedAlways bytes: the codecs reach more only on rows that are all alike.
const (
	unpackedShare  = 256
	unpackedAlways = 32 << 20
)

func checkPages(f io.ReaderAt, size int64, p *parquet.File) error {
	left := unpackedAlways + unpackedShare*size
	for g, group := range p.Metadata().RowGroups {
		for c, chunk := range group.Columns {
			m := chunk.MetaData
			from := m.DataPageOffset
			if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < from {
				from = m.DictionaryPageOffset
			}
			if from < 0 || m.TotalCompressedSize < 0 || from > size || m.TotalCompressedSize > size-from {
				return fmt.Errorf("damaged parquet file: column %d of row group %d has %d bytes at %d of %d", c, g, m.TotalCompressedSize, from, size)
			}
			unpacked, err := claimed(io.NewSectionReader(f, from, m.TotalCompressedSize))
			if err != nil {
				return fmt.Errorf("damaged parquet file: column %d of row group %d: %w", c, g, err)
			}
			if left -= unpacked; left < 0 {
				return fmt.Errorf("parquet file of %d bytes whose pages claim more than %d times as much: damaged, or made to fill memory", size, unpackedShare)
			}
		}
	}
	return nil
}

// claimed adds up what the pages of a column claim unpacked.
func claimed(chunk *io.SectionReader) (unpacked int64, err error) {
	for at := int64(0); at < chunk.Size(); {
		if _, err := chunk.Seek(at, io.SeekStart); err != nil {
			return 0, err
		}
		r := bufio.NewReaderSize(chunk, 512)
		var header format.PageHeader
		if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(r)).Decode(&header); err != nil {
			return 0, fmt.Errorf("page at %d: %w", at, err)
		}
		now, err := chunk.Seek(0, io.SeekCurrent)
		if err != nil {
			return 0, err
		}
		body := now - int64(r.Buffered())
		packed := int64(header.CompressedPageSize)
		if packed < 0 || packed > chunk.Size()-body || header.UncompressedPageSize < 0 {
			return 0, fmt.Errorf("page at %d claims %d bytes, %d unpacked, of %d", at, packed, header.UncompressedPageSize, chunk.Size()-body)
		}
		unpacked += int64(header.UncompressedPageSize)
		at = body + packed
	}
	return unpacked, nil
}
