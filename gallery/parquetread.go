package gallery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/parquetfile"
)

// readParquet reads columns path, class and label, and one column of lists of
// numbers: that called embedding, or the only one.
func readParquet(path string) (*Table, error) {
	p, err := parquetfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	t := &Table{Embeddings: &eval.Embeddings{}}
	for key, into := range map[string]*string{metricName: &t.Metric, modelName: &t.Model, dataName: &t.Data} {
		*into, _ = p.Lookup(metadataPrefix + key)
	}
	column, err := listColumn(p)
	if err != nil {
		return nil, err
	}
	if t.X, t.N, t.H, err = p.Rows(column); err != nil {
		return nil, err
	}
	for name, take := range map[string]func(v parquet.Value) error{
		pathColumn:  func(v parquet.Value) error { t.Paths = append(t.Paths, string(v.ByteArray())); return nil },
		classColumn: func(v parquet.Value) error { t.Classes = append(t.Classes, string(v.ByteArray())); return nil },
		labelColumn: func(v parquet.Value) error {
			label, err := parquetfile.Integer(v)
			t.Labels = append(t.Labels, label)
			return err
		},
	} {
		c := p.Root().Column(name)
		if c == nil || !c.Leaf() || c.Repeated() {
			continue
		}
		if text := c.Type().Kind() == parquet.ByteArray; text != (name != labelColumn) {
			continue // something else of that name
		}
		if err := p.Values(c, take); err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
	}
	sum, _ := p.Lookup(metadataPrefix + checksumName)
	return t, t.verify(sum)
}

// listColumn finds the leaf that holds the numbers.
func listColumn(p *parquetfile.File) (*parquet.Column, error) {
	lists, names := p.Lists()
	if i := slices.IndexFunc(lists, func(c *parquet.Column) bool { return c.Path()[0] == embeddingColumn }); i >= 0 {
		return lists[i], nil
	}
	if len(lists) == 1 {
		return lists[0], nil
	}
	return nil, fmt.Errorf("there are %d columns of lists of numbers and none is called %s (columns: %s)", len(lists), embeddingColumn, strings.Join(names, ", "))
}
