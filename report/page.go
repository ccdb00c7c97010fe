package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/run"
)

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

func pageTemplate() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		// Pictures are data URLs that Thumbnail made, which the template would
		// refuse as it does any unknown scheme.
		"picture":  func(p Picture) template.URL { return template.URL(p.URL) },
		"distance": func(d float64) string { return strconv.FormatFloat(d, 'f', 3, 64) },
		"percent":  func(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) },
		"rank":     func(i int) int { return i + 1 },
		"heat":     heat,
		"count":    plural.Of,
	}).Parse(pageText)
}

// page is what the template is given.
type page struct {
	*Report
	Style     template.CSS
	Figures   figureTable
	Published []string // remarks on where published figures are from
	Sections  []section
	WrongRate string
	// Differences are those of several files of embeddings, Super the figures of
	// super-classes.
	Differences []difference
	Super       [][]string
	Reranked    rerankedTable
	Probed      probedTable
	First       string // the file of embeddings that queries and confusions are of, among several
}

func (r *Report) page() page {
	p := page{Report: r, Style: template.CSS(styleText), Figures: r.figureTable(), Sections: r.charts}
	p.Differences, p.Super = r.differences(), superTable(r.Results.Model)
	p.Reranked, p.Probed = r.rerankedTable(), r.probedTable()
	if r.Compared != nil {
		p.First = r.names[0]
	}
	if c := r.Confusion; c != nil {
		p.WrongRate = strconv.FormatFloat(100*float64(c.Wrong)/float64(max(c.Queries, 1)), 'f', 1, 64)
	}
	if preset := r.Results.Preset; preset != nil {
		for _, f := range preset.Published {
			p.Published = append(p.Published, f.From+" (seen in the "+f.Seen+")")
		}
	}
	return p
}

// heat is the depth of color of a cell of the confusion matrix.
func heat(row []int, count int) template.CSS {
	total := 0
	for _, n := range row {
		total += n
	}
	return template.CSS(fmt.Sprintf("--v:%.2f", float64(count)/float64(max(total, 1))))
}

// figureTable are figures side by side.
type figureTable struct {
	Columns []string
	Rows    []figureRow
}

type figureRow struct {
	Name      string
	Cells     []string
	Published bool
}

// rowFigures are a row of the table.
type rowFigures struct {
	name string
	f    *eval.Figures
}

// measured lists what the table has in its rows.
func (r *Report) measured() []rowFigures {
	if r.names == nil {
		return []rowFigures{{"this model", r.Results.Model}, {"the last epoch", r.Results.Last}, {"the last epoch, averaged weights", r.Results.LastEMA}, {"the network before training", r.Results.Untrained}, {r.Results.RawName(), r.Results.RawPixels}}
	}
	rows := []rowFigures{{r.names[0], r.Results.Model}}
	if r.Compared != nil {
		for i, e := range r.Compared.Embeddings[1:] {
			rows = append(rows, rowFigures{r.names[i+1], e.Model})
		}
	}
	return rows
}

// figureTable is the table of all figures.
func (r *Report) figureTable() figureTable {
	of, t := r.Results, figureTable{}
	for _, k := range of.Model.Recall {
		t.Columns = append(t.Columns, "R@"+strconv.Itoa(k.K))
	}
	if len(of.Model.Intervals) > 0 {
		t.Columns = append(t.Columns, fmt.Sprintf("R@%d, 95%%", of.Model.Intervals[0].K))
	}
	t.Columns = append(t.Columns, "MAP@R", "MAP")
	if of.Model.TrapezoidMAP != nil {
		t.Columns = append(t.Columns, "trapezoid")
	}
	t.Columns = append(t.Columns, "NMI", "F1", "AUC", "EER", "distance")
	one := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	share := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return strconv.FormatFloat(*v, 'f', 3, 64)
	}
	for _, row := range r.measured() {
		if row.f == nil {
			continue
		}
		cells := []string{}
		for _, k := range row.f.Recall {
			cells = append(cells, one(k.Percent))
		}
		if len(of.Model.Intervals) > 0 {
			cell := "–"
			if in := row.f.Intervals; len(in) > 0 {
				cell = one(in[0].Low) + " to " + one(in[0].High)
			}
			cells = append(cells, cell)
		}
		cells = append(cells, one(100*row.f.MAPAtR), one(100*row.f.MAP))
		if of.Model.TrapezoidMAP != nil {
			cell := "–"
			if v := row.f.TrapezoidMAP; v != nil {
				cell = one(100 * *v)
			}
			cells = append(cells, cell)
		}
		v := row.f.Verification
		cells = append(cells, share(row.f.NMI), share(row.f.F1), strconv.FormatFloat(v.AUC, 'f', 4, 64), one(100*v.EER), row.f.Distance)
		t.Rows = append(t.Rows, figureRow{Name: row.name, Cells: cells})
	}
	if of.Preset == nil {
		return t
	}
	for _, f := range of.Preset.Published {
		row := figureRow{Name: "published: " + f.From, Published: true}
		for _, k := range of.Model.Recall {
			cell := "–"
			if v, ok := f.Recall[k.K]; ok {
				cell = one(v)
			}
			row.Cells = append(row.Cells, cell)
		}
		given := func(v float64) string {
			if v == 0 {
				return "–"
			}
			return strconv.FormatFloat(v, 'f', 3, 64)
		}
		const behind = 5 // columns, from NMI on
		for len(row.Cells) < len(t.Columns)-behind {
			row.Cells = append(row.Cells, "–")
		}
		row.Cells = append(row.Cells, given(f.NMI), given(f.F1), "–", "–", "")
		t.Rows = append(t.Rows, row)
	}
	return t
}

// rerankedTable are figures after re-ranking, empty where none was asked for.
type rerankedTable struct {
	Columns []string
	Rows    []figureRow
}

func (r *Report) rerankedTable() (t rerankedTable) {
	one := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	for _, row := range r.measured() {
		if row.f == nil {
			continue
		}
		for _, f := range row.f.Reranked {
			if t.Columns == nil {
				for _, k := range f.Recall {
					t.Columns = append(t.Columns, "R@"+strconv.Itoa(k.K))
				}
				t.Columns = append(t.Columns, "MAP@R", "MAP", "seconds")
			}
			var cells []string
			for _, k := range f.Recall {
				cells = append(cells, one(k.Percent))
			}
			t.Rows = append(t.Rows, figureRow{Name: row.name + ", " + f.Method, Cells: append(cells, one(100*f.MAPAtR), one(100*f.MAP), one(f.Seconds))})
		}
	}
	return t
}

// difference is a row of the table of differences.
type difference struct{ Name, Recall, RecallIn, RecallP, MAP, MAPIn, MAPP string }

// differences lists what other files of embeddings have more than the first.
func (r *Report) differences() (list []difference) {
	if r.Compared == nil {
		return nil
	}
	for i, d := range r.Compared.Differences {
		a, b := d.RecallAt1, d.MAPAtR
		list = append(list, difference{
			r.names[i+1], fmt.Sprintf("%+.1f", a.Mean), fmt.Sprintf("%+.1f to %+.1f", a.Low, a.High), fmt.Sprintf("%.2g", a.P),
			fmt.Sprintf("%+.1f", 100*b.Mean), fmt.Sprintf("%+.1f to %+.1f", 100*b.Low, 100*b.High), fmt.Sprintf("%.2g", b.P),
		})
	}
	return list
}

// superTable lists the figures of super-classes, in percent.
func superTable(f *eval.Figures) (rows [][]string) {
	if f.SuperClasses == nil {
		return nil
	}
	const shown = 40
	one := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	for _, g := range f.SuperClasses.Groups[:min(shown, len(f.SuperClasses.Groups))] {
		row := []string{g.Name, strconv.Itoa(g.Classes), strconv.Itoa(g.Queries), one(g.RecallAt1), "–"}
		if g.AverageFigures != nil {
			row[4] = one(100 * g.MAPAtR)
		}
		rows = append(rows, row)
	}
	s := f.SuperClasses
	return append(rows, []string{fmt.Sprintf("mean of %d", len(s.Groups)), strconv.Itoa(f.Classes), strconv.Itoa(f.Queries), one(s.RecallAt1), one(100 * s.Mean.MAPAtR)})
}

// Setting is a line of the configuration.
type Setting struct{ Name, Value string }

// settings lists every setting by its place in config.json.
func settings(cfg run.Config) ([]Setting, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	var list []Setting
	var walk func(name string, v any)
	walk = func(name string, v any) {
		branch, ok := v.(map[string]any)
		if !ok {
			value, err := json.Marshal(v)
			if err != nil { // it came from JSON
				value = []byte(fmt.Sprint(v))
			}
			if text, ok := v.(string); ok {
				value = []byte(nametext.WithoutFolders(text))
			}
			list = append(list, Setting{name, string(value)})
			return
		}
		for key, sub := range branch {
			walk(joinName(name, key), sub)
		}
	}
	walk("", tree)
	slices.SortFunc(list, func(a, b Setting) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list, nil
}

func joinName(name, key string) string {
	if name == "" {
		return key
	}
	return name + "." + key
}
