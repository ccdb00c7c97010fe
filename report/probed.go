package report

import (
	"fmt"
	"strconv"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
)

// probedTable has what was told from frozen embeddings, empty where nothing was asked for.
type probedTable struct {
	Sides   string // how many rows the bank and the queries are
	Columns []string
	Rows    []figureRow
}

func (r *Report) probedTable() (t probedTable) {
	one := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	for _, row := range r.measured() {
		if row.f == nil || row.f.Probe == nil {
			continue
		}
		f := row.f.Probe
		if t.Columns == nil {
			t.head(f)
		}
		var cells []string
		for _, v := range f.Votes {
			cells = append(cells, one(v.Percent), one(v.Weighted))
		}
		if f.Linear != nil {
			cells = append(cells, one(f.Linear.Percent))
		}
		alignment := "–"
		if f.Alignment != nil {
			alignment = strconv.FormatFloat(*f.Alignment, 'f', 3, 64)
		}
		t.Rows = append(t.Rows, figureRow{Name: row.name, Cells: append(cells, alignment, strconv.FormatFloat(f.Uniformity, 'f', 3, 64))})
	}
	return t
}

// head makes the columns.
func (t *probedTable) head(f *eval.ProbeFigures) {
	t.Sides = fmt.Sprintf("%s of a bank of %s of %s", plural.Of(f.Queries, "query"), plural.Of(f.Bank, "row"), plural.Of(f.Classes, "class"))
	for _, v := range f.Votes {
		t.Columns = append(t.Columns, fmt.Sprintf("%d-NN", v.K), fmt.Sprintf("%d-NN, weighted", v.K))
	}
	if f.Linear != nil {
		t.Columns = append(t.Columns, "linear probe")
	}
	t.Columns = append(t.Columns, "alignment", "uniformity")
}
