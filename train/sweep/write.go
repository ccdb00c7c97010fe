package sweep

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/eval/plot"
	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/internal/plural"
)

// WriteMarkdown writes a line a group: mean and deviation of every figure, and the
// test of one of them. The best mean of a figure is bold, if all are of the same
// test images.
func (t *Table) WriteMarkdown(w io.Writer, tested string) error {
	if err := t.Known(tested); err != nil {
		return err
	}
	head, rule := "|", "|"
	for _, c := range t.Columns {
		head, rule = head+" "+short(c)+" |", rule+"---|"
	}
	head, rule = head+" runs |", rule+"---|"
	for _, f := range t.Figures {
		head, rule = head+" "+title(f)+" |", rule+"---|"
	}
	withTest, ranked := t.tested(tested), len(t.testSets()) < 2
	if withTest {
		head, rule = head+" "+title(tested)+" against baseline |", rule+"---|"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", head, rule)
	for _, g := range t.Groups {
		b.WriteString("|")
		for _, l := range g.Labels {
			fmt.Fprintf(&b, " %s |", orDash(l))
		}
		fmt.Fprintf(&b, " %d |", len(g.Runs))
		for _, f := range t.Figures {
			fmt.Fprintf(&b, " %s |", t.cell(g, f, ranked))
		}
		if withTest {
			fmt.Fprintf(&b, " %s |", g.Figures[tested].Test.text(tested))
		}
		b.WriteByte('\n')
	}
	if remark := t.Remark(); remark != "" {
		fmt.Fprintf(&b, "\n%s\n", remark)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Remark says which settings differ and have no column, which runs are in no group,
// and that test images differ; it is empty if there is none of it.
func (t *Table) Remark() string {
	var lines, parts []string
	for _, f := range t.Following {
		parts = append(parts, f.Place+" (from "+strings.Join(f.From, " and ")+")")
	}
	if len(parts) > 0 {
		lines = append(lines, "No column, since the value follows from those shown: "+strings.Join(parts, ", ")+".")
	}
	if sets := t.testSets(); len(sets) > 1 {
		var each []string
		for _, s := range sets {
			each = append(each, fmt.Sprintf("%s of %s", plural.Of(s.Images, "image"), plural.Of(s.Classes, "class")))
		}
		lines = append(lines, "Measured on different test images, so neither ranked nor tested against each other: "+strings.Join(each, "; ")+".")
	}
	for _, m := range t.Missing {
		lines = append(lines, "Not in the table: "+filepath.Base(m.Folder)+", "+m.State+".")
	}
	return strings.Join(lines, "\n\n")
}

// testSets are those that the runs were measured on.
func (t *Table) testSets() (sets []TestSet) {
	for _, g := range t.Groups {
		for _, r := range g.Runs {
			if !slices.Contains(sets, r.Test) {
				sets = append(sets, r.Test)
			}
		}
	}
	return sets
}

// cell is mean ± deviation, bold for the best mean if groups are ranked.
func (t *Table) cell(g *Group, figure string, ranked bool) string {
	s, ok := g.Figures[figure]
	if !ok {
		return "-"
	}
	text := number(figure, s.Mean)
	if s.Runs > 1 {
		text += " ± " + number(figure, s.Std)
	}
	if !ranked {
		return text
	}
	for _, other := range t.Groups {
		if o, ok := other.Figures[figure]; ok && number(figure, o.Mean) != number(figure, s.Mean) && o.Mean > s.Mean {
			return text
		}
	}
	return "**" + text + "**"
}

// text is the outcome of a test for people.
func (test *Test) text(figure string) string {
	if test == nil {
		return "-"
	}
	sign := ""
	if test.Difference >= 0 {
		sign = "+"
	}
	p := fmt.Sprintf("p = %.2g", test.P)
	if test.P < .001 {
		p = "p < 0.001"
	}
	verdict := map[string]string{"better": ", **better**", "worse": ", **worse**"}[test.Verdict]
	return sign + number(figure, test.Difference) + " (" + p + ")" + verdict
}

// tested reports whether any group was tested on a figure.
func (t *Table) tested(figure string) bool {
	return slices.ContainsFunc(t.Groups, func(g *Group) bool { return g.Figures[figure].Test != nil })
}

// number writes a figure with the digits that it is usually given with.
func number(figure string, v float64) string {
	digits := 3
	if Percent(figure) {
		digits = 2
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func title(figure string) string {
	if k, ok := strings.CutPrefix(figure, recallPrefix); ok {
		return "R@" + k
	}
	switch figure {
	case "map@r":
		return "MAP@R"
	case "nmi":
		return "NMI"
	case "f1":
		return "F1"
	case validationMAP:
		return "validation MAP@R"
	}
	return figure
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return strings.ReplaceAll(text, "|", "\\|")
}

// Known reports whether the table has a figure.
func (t *Table) Known(figure string) error {
	if slices.Contains(t.Figures, figure) {
		return nil
	}
	return t.unknown(figure)
}

func (t *Table) unknown(figure string) error {
	return &OptionError{"figure", fmt.Errorf("no run has a figure %q%s (there is: %s)", figure, nearest.Hint(figure, t.Figures), strings.Join(t.Figures, ", "))}
}

// WriteCSV writes a line a group with all that is known of every figure.
func (t *Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	head := append(slices.Clone(t.Columns), "runs")
	for _, f := range t.Figures {
		head = append(head, f+"_mean", f+"_std", f+"_difference", f+"_p", f+"_verdict")
	}
	rows := [][]string{head}
	for _, g := range t.Groups {
		row := append(slices.Clone(g.Labels), strconv.Itoa(len(g.Runs)))
		for _, f := range t.Figures {
			s, ok := g.Figures[f]
			cells := make([]string, 5)
			if ok {
				cells[0] = exact(s.Mean)
			}
			if s.Runs > 1 {
				cells[1] = exact(s.Std)
			}
			if s.Test != nil {
				cells[2], cells[3], cells[4] = exact(s.Test.Difference), exact(s.Test.P), s.Test.Verdict
			}
			row = append(row, cells...)
		}
		rows = append(rows, row)
	}
	return c.WriteAll(rows)
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// WriteJSON writes everything, the figures of single runs included.
func (t *Table) WriteJSON(w io.Writer) error {
	type run struct {
		Folder  string             `json:"folder"`
		Seed    uint64             `json:"seed"`
		Fold    int                `json:"fold,omitempty"`
		Figures map[string]float64 `json:"figures"`
	}
	type group struct {
		Settings map[string]string  `json:"settings"`
		Figures  map[string]Summary `json:"figures"`
		Runs     []run              `json:"runs"`
	}
	out := struct {
		Level     float64     `json:"level"`
		Following []Following `json:"following,omitempty"` // settings that are not listed
		Missing   []Missing   `json:"missing,omitempty"`   // runs that are not finished
		Groups    []group     `json:"groups"`
	}{Level: t.Level, Following: t.Following, Missing: t.Missing}
	for _, g := range t.Groups {
		x := group{Settings: map[string]string{}, Figures: g.Figures}
		for c, place := range t.Columns {
			x.Settings[place] = g.Labels[c]
		}
		for _, r := range g.Runs {
			x.Runs = append(x.Runs, run{r.Folder, r.Seed, r.Fold, r.Figures})
		}
		out.Groups = append(out.Groups, x)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

// Plot draws a figure of every run: the last column side by side, the others
// below each other's axis.
func (t *Table) Plot(path, figure string) error {
	if err := t.Known(figure); err != nil {
		return err
	}
	unit := ""
	if Percent(figure) {
		unit = " [%]"
	}
	p := plot.Groups{Title: title(figure) + ", every run, and mean ± deviation", Figure: title(figure) + unit}
	index := func(list *[]string, name string) int {
		i := slices.Index(*list, name)
		if i < 0 {
			i = len(*list)
			*list = append(*list, name)
		}
		return i
	}
	last := len(t.Columns) - 1
	type place struct{ category, series int }
	at := make([]place, len(t.Groups))
	for i, g := range t.Groups {
		category, series := "", "runs"
		if last >= 0 {
			series = short(t.Columns[last]) + " " + orDash(g.Labels[last])
			category = strings.Join(g.Labels[:last], " ")
		}
		at[i] = place{index(&p.Categories, category), index(&p.Series, series)}
	}
	p.Values = make([][][]float64, len(p.Categories))
	for c := range p.Values {
		p.Values[c] = make([][]float64, len(p.Series))
	}
	for i, g := range t.Groups {
		p.Values[at[i].category][at[i].series] = g.figure(figure)
	}
	return plot.PNG(path, p)
}
