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
}

func (r *Report) page() page {
	p := page{Report: r, Style: template.CSS(styleText), Figures: newFigureTable(r.Results), Sections: r.charts}
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

func newFigureTable(r *run.Results) figureTable {
	t := figureTable{}
	for _, k := range r.Model.Recall {
		t.Columns = append(t.Columns, "R@"+strconv.Itoa(k.K))
	}
	t.Columns = append(t.Columns, "MAP@R", "NMI", "F1", "AUC", "EER", "distance")
	one := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	share := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return strconv.FormatFloat(*v, 'f', 3, 64)
	}
	for _, row := range []struct {
		name string
		f    *eval.Figures
	}{{"this model", r.Model}, {"the network before training", r.Untrained}, {r.RawName(), r.RawPixels}} {
		if row.f == nil {
			continue
		}
		cells := []string{}
		for _, k := range row.f.Recall {
			cells = append(cells, one(k.Percent))
		}
		v := row.f.Verification
		cells = append(cells, one(100*row.f.MAPAtR), share(row.f.NMI), share(row.f.F1), strconv.FormatFloat(v.AUC, 'f', 4, 64), one(100*v.EER), row.f.Distance)
		t.Rows = append(t.Rows, figureRow{Name: row.name, Cells: cells})
	}
	if r.Preset == nil {
		return t
	}
	for _, f := range r.Preset.Published {
		row := figureRow{Name: "published: " + f.From, Published: true}
		for _, k := range r.Model.Recall {
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
		row.Cells = append(row.Cells, "–", given(f.NMI), given(f.F1), "–", "–", "")
		t.Rows = append(t.Rows, row)
	}
	return t
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
