package gallery

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// Columns of a .parquet file and keys of its metadata.
const (
	embeddingColumn = "embedding"
	pathColumn      = "path"
	classColumn     = "class"
	labelColumn     = "label"
	metadataPrefix  = "vernier."
)

// Bounds of what is held in memory while a file is written: bytes of a row
// group, and rows that are encoded at once.
const (
	groupBytes = 64 << 20
	rowBatch   = 256
)

func writeParquet(path string, t *Table) error {
	group := parquet.Group{embeddingColumn: parquet.List(parquet.Leaf(parquet.FloatType))}
	if t.Paths != nil {
		group[pathColumn] = parquet.Compressed(parquet.String(), &parquet.Zstd)
	}
	if t.Classes != nil {
		group[classColumn] = parquet.Compressed(parquet.Encoded(parquet.String(), &parquet.RLEDictionary), &parquet.Zstd)
	}
	if t.Labels != nil {
		group[labelColumn] = parquet.Int(64)
	}
	schema := parquet.NewSchema("embeddings", group)
	options := []parquet.WriterOption{schema, parquet.CreatedBy("vernier", "", "")}
	sum, err := t.checksum()
	if err != nil {
		return err
	}
	for key, value := range map[string]string{metricName: t.Metric, modelName: t.Model, dataName: t.Data, checksumName: sum} {
		if value != "" {
			options = append(options, parquet.KeyValueMetadata(metadataPrefix+key, value))
		}
	}
	return wholefile.Write(path, func(w io.Writer) error {
		p := parquet.NewWriter(w, options...)
		perGroup := max(rowBatch, groupBytes/(4*t.H))
		builder := newRowBuilder(schema, t)
		for from := 0; from < t.N; from += rowBatch {
			to := min(from+rowBatch, t.N)
			if _, err := p.WriteRows(builder.rows(from, to)); err != nil {
				return err
			}
			if to%perGroup < rowBatch && to < t.N {
				if err := p.Flush(); err != nil {
					return err
				}
			}
		}
		return p.Close()
	})
}

// rowBuilder makes rows of a table as parquet has them: a value for every
// column, with the levels at which it stands (Melnik et al. 2010, "Dremel").
type rowBuilder struct {
	t                             *Table
	path, class, label, embedding int // numbers of columns
	buffer                        []parquet.Row
}

func newRowBuilder(schema *parquet.Schema, t *Table) *rowBuilder {
	at := func(path ...string) int {
		if leaf, ok := schema.Lookup(path...); ok {
			return leaf.ColumnIndex
		}
		return -1
	}
	return &rowBuilder{
		t: t, path: at(pathColumn), class: at(classColumn), label: at(labelColumn),
		embedding: at(embeddingColumn, "list", "element"), buffer: make([]parquet.Row, rowBatch),
	}
}

func (b *rowBuilder) rows(from, to int) []parquet.Row {
	for i := from; i < to; i++ {
		row := b.buffer[i-from][:0]
		// Values stand in the order of columns, which is that of their names.
		if b.class >= 0 {
			row = append(row, parquet.ByteArrayValue([]byte(b.t.Classes[i])).Level(0, 0, b.class))
		}
		for j, x := range b.t.Row(i) {
			again := min(j, 1)
			row = append(row, parquet.FloatValue(x).Level(again, 1, b.embedding))
		}
		if b.label >= 0 {
			row = append(row, parquet.Int64Value(int64(b.t.Labels[i])).Level(0, 0, b.label))
		}
		if b.path >= 0 {
			row = append(row, parquet.ByteArrayValue([]byte(b.t.Paths[i])).Level(0, 0, b.path))
		}
		b.buffer[i-from] = row
	}
	return b.buffer[:to-from]
}
