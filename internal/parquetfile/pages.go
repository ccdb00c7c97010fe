package parquetfile

import (
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

// maxPageHeader is the size up to which a page's header is read: it holds a few
// numbers, and the least and largest value of the page.
const maxPageHeader = 64 << 10

// claimed adds up what the pages of a column claim unpacked.
func claimed(chunk *io.SectionReader) (unpacked int64, err error) {
	buffer := make([]byte, min(chunk.Size(), maxPageHeader))
	for at := int64(0); at < chunk.Size(); {
		n, err := chunk.ReadAt(buffer, at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		length, err := thriftLength(buffer[:n])
		if err != nil {
			return 0, fmt.Errorf("page at %d: its header: %w", at, err)
		}
		var header format.PageHeader
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), buffer[:length], &header); err != nil {
			return 0, fmt.Errorf("page at %d: %w", at, err)
		}
		body, packed := at+int64(length), int64(header.CompressedPageSize)
		if packed < 0 || packed > chunk.Size()-body || header.UncompressedPageSize < 0 {
			return 0, fmt.Errorf("page at %d claims %d bytes, %d unpacked, of %d", at, packed, header.UncompressedPageSize, chunk.Size()-body)
		}
		unpacked += int64(header.UncompressedPageSize)
		at = body + packed
	}
	return unpacked, nil
}
