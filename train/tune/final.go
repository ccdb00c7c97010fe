package tune

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train/sweep"
)

// FinalFolder holds the runs of the best settings in the folder of a file's studies.
const FinalFolder = "final"

// ErrNoBest says that no trial of a variant is complete.
var ErrNoBest = errors.New("no trial is complete")

// FinalJobs are the runs of the best settings of each variant, seed by seed.
func (f *File) FinalJobs(studies []*Study) ([]sweep.Job, error) {
	var jobs []sweep.Job
	for seed := range f.Seeds {
		for _, s := range studies {
			best := s.Best()
			if best == nil {
				return nil, fmt.Errorf("variant %s: %w", s.Variant.Name, ErrNoBest)
			}
			cfg, err := f.FinalConfig(s.Variant, s.Point(best), uint64(seed+1))
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, sweep.Job{Name: finalName(s, uint64(seed+1)), Config: cfg})
		}
	}
	return jobs, nil
}

func finalName(s *Study, seed uint64) string {
	return fmt.Sprintf("%s-t%d-s%d", folderName(s.Variant.Name), s.Best().Number+1, seed)
}

// Row is a variant in the table of a comparison.
type Row struct {
	Variant  string            `json:"variant"`
	Settings map[string]string `json:"settings,omitempty"` // that make the variant
	Trials   int               `json:"trials"`
	Stopped  int               `json:"stopped"` // early
	Failed   int               `json:"failed"`
	Hours    float64           `json:"hours"`
	Best     *Trial            `json:"best,omitempty"`
	// Figures are those of the test classes, by name.
	Figures map[string]Figure `json:"figures,omitempty"`
}

// Figure is a figure of a variant's final runs.
type Figure struct {
	Runs []float64 `json:"runs"`
	Mean float64   `json:"mean"`
	Std  float64   `json:"std"` // of a sample
	// Test compares with the variant's baseline; nil where there is none.
	Test *Test `json:"test,omitempty"`
}

// Test is a paired, two-sided t-test over seeds.
type Test struct {
	Baseline   string  `json:"baseline"`
	Difference float64 `json:"difference"`
	P          float64 `json:"p"`
	// Holm is P corrected for all comparisons of the figure in the table (Holm 1979, A
	// simple sequentially rejective multiple test procedure).
	Holm float64 `json:"holm"`
}

// Table is what a file comes to.
type Table struct {
	Figure string   `json:"figure"` // of trials
	Names  []string `json:"figures"`
	Rows   []Row    `json:"rows"`
}

// testedFigures are those of the test classes that variants are compared by.
var testedFigures = []string{"recall@1", "map@r"}

// Compare makes the table of studies and the final runs that are finished.
func (f *File) Compare(dir string, studies []*Study) (*Table, error) {
	t := &Table{Figure: f.Figure}
	for _, s := range studies {
		row := Row{Variant: s.Variant.Name, Settings: s.Variant.values(), Best: s.Best(), Hours: s.Seconds() / 3600, Figures: map[string]Figure{}}
		for _, trial := range s.Trials() {
			row.Trials++
			switch trial.State {
			case Stopped:
				row.Stopped++
			case Failed:
				row.Failed++
			}
		}
		if row.Best != nil {
			if err := row.finals(f, s, dir); err != nil {
				return nil, err
			}
		}
		for name := range row.Figures {
			if !slices.Contains(t.Names, name) {
				t.Names = append(t.Names, name)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	order := []string{"recall@1", "recall@2", "recall@4", "recall@8", "map@r", "nmi", "f1"}
	t.Names = slices.DeleteFunc(order, func(name string) bool { return !slices.Contains(t.Names, name) })
	for _, name := range testedFigures {
		if err := t.test(f, name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// finals reads the figures of a variant's finished runs.
func (r *Row) finals(f *File, s *Study, dir string) error {
	for seed := range f.Seeds {
		folder := filepath.Join(dir, FinalFolder, finalName(s, uint64(seed+1)))
		if !exists(filepath.Join(folder, run.ResultsFile)) {
			continue
		}
		runs, _, err := sweep.Load([]string{folder})
		if err != nil {
			return err
		}
		for name, v := range runs[0].Figures {
			x := r.Figures[name]
			x.Runs = append(x.Runs, v)
			r.Figures[name] = x
		}
	}
	for name, x := range r.Figures {
		if x.Mean = x.Runs[0]; len(x.Runs) > 1 {
			x.Mean, x.Std = stat.MeanStdDev(x.Runs, nil)
		}
		r.Figures[name] = x
	}
	return nil
}

// test compares each variant with its baseline where all seeds of both are there.
func (t *Table) test(f *File, figure string) error {
	var tests []*Test
	for i := range t.Rows {
		base := f.Variants[i].Baseline
		if base < 0 {
			continue
		}
		x, y := t.Rows[i].Figures[figure], t.Rows[base].Figures[figure]
		if len(x.Runs) != f.Seeds || len(y.Runs) != f.Seeds || f.Seeds < 2 {
			continue
		}
		_, p, err := eval.PairedT(x.Runs, y.Runs)
		if err != nil {
			return err
		}
		x.Test = &Test{Baseline: t.Rows[base].Variant, Difference: x.Mean - y.Mean, P: p}
		t.Rows[i].Figures[figure] = x
		tests = append(tests, x.Test)
	}
	var ps []float64
	for _, x := range tests {
		ps = append(ps, x.P)
	}
	for i, p := range Holm(ps) {
		tests[i].Holm = p
	}
	return nil
}

// Holm corrects p values for their number: those below a level reject their hypotheses
// with a chance below that level of a false one among all.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	corrected, least := make([]float64, len(p)), 0.
	for k, i := range order {
		least = max(least, min(1, float64(len(p)-k)*p[i]))
		corrected[i] = least
	}
	return corrected
}

// WriteMarkdown writes a line a variant.
func (t *Table) WriteMarkdown(w io.Writer) error {
	head := []string{"variant", "trials", t.Figure, "best settings"}
	tested := slices.ContainsFunc(t.Rows, func(r Row) bool {
		return slices.ContainsFunc(testedFigures, func(name string) bool { return r.Figures[name].Test != nil })
	})
	for _, name := range t.Names {
		head = append(head, title(name))
	}
	if tested {
		for _, name := range testedFigures {
			head = append(head, title(name)+" against baseline")
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, r := range t.Rows {
		cells := []string{r.Variant, r.trials(), "-", "-"}
		if r.Best != nil {
			cells[2], cells[3] = strconv.FormatFloat(r.Best.Value, 'f', 2, 64), r.Best.text()
		}
		for _, name := range t.Names {
			cells = append(cells, r.Figures[name].text(name))
		}
		if tested {
			for _, name := range testedFigures {
				cells = append(cells, r.Figures[name].Test.text())
			}
		}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", "\\|")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Row) trials() string {
	text := strconv.Itoa(r.Trials)
	var parts []string
	if r.Stopped > 0 {
		parts = append(parts, fmt.Sprintf("%d stopped", r.Stopped))
	}
	if r.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", r.Failed))
	}
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	return text
}

// text lists a trial's settings.
func (t *Trial) text() string {
	var parts []string
	for place, v := range t.Settings {
		parts = append(parts, place[strings.LastIndex(place, ".")+1:]+"="+v)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func (f Figure) text(name string) string {
	if len(f.Runs) == 0 {
		return "-"
	}
	digits := 2
	if !sweep.Percent(name) {
		digits = 3
	}
	text := strconv.FormatFloat(f.Mean, 'f', digits, 64)
	if len(f.Runs) > 1 {
		text += " ± " + strconv.FormatFloat(f.Std, 'f', digits, 64)
	}
	return text
}

func (t *Test) text() string {
	if t == nil {
		return "-"
	}
	verdict := ""
	if t.Holm < .05 {
		verdict = ", **better**"
		if t.Difference < 0 {
			verdict = ", **worse**"
		}
	}
	return fmt.Sprintf("%+.2f (p = %.2g, Holm %.2g)%s", t.Difference, t.P, t.Holm, verdict)
}

func title(figure string) string {
	if k, ok := strings.CutPrefix(figure, "recall@"); ok {
		return "R@" + k
	}
	return strings.ToUpper(figure)
}

// Files of the folder of a file's studies.
const (
	TableFile  = "table.md"
	JSONFile   = "table.json"
	ReportFile = "report.html"
)

// Write writes the table, and the best settings of each variant as a file for a run's
// configuration.
func (f *File) Write(dir string, studies []*Study, t *Table) error {
	folder := run.Folder(dir)
	if err := wholefile.Write(folder.Path(TableFile), t.WriteMarkdown); err != nil {
		return err
	}
	if err := folder.SaveJSON(JSONFile, t); err != nil {
		return err
	}
	for _, s := range studies {
		best := s.Best()
		if best == nil {
			continue
		}
		cfg, err := f.FinalConfig(s.Variant, s.Point(best), 1)
		if err != nil {
			return err
		}
		text, err := cfg.YAML()
		if err != nil {
			return err
		}
		if err := folder.WriteFile("best-"+folderName(s.Variant.Name)+".yaml", text); err != nil {
			return err
		}
	}
	return nil
}
