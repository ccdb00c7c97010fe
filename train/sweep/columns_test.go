package sweep

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// tableOf plans a sweep and gives every run the same figure.
func tableOf(t *testing.T, text string, known bool) *Table {
	t.Helper()
	f, err := Parse("s.yaml", []byte("base: {data: {spec: glyphs}}\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := f.Plan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var runs []Run
	for _, j := range jobs {
		runs = append(runs, Run{Folder: j.Name, Seed: j.Config.Seed, Values: settingsOf(j.Config), config: &j.Config, Figures: map[string]float64{"recall@1": 50}})
	}
	o := Options{Baseline: map[string]string{}}
	if known {
		o.Order, o.With = f.Order(jobs), f.With()
	}
	table, err := Compare(runs, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestOnlyWhatFollowsForAReasonHasNoColumn(t *testing.T) {
	for name, c := range map[string]struct {
		text              string
		columns, compared string // of sweep, and of compare, which does not know the file
		following         string
	}{
		"every drawn key": {"random: {trials: 4, values: {optimizer.rate: {log: [1e-5, 1e-2]}, model.dim: {int: [8, 64]}, model.scale: {uniform: [0.5, 2]}}}",
			"optimizer.rate model.dim model.scale", "model.dim model.scale optimizer.rate", ""},
		"set together with a key of every entry": {"grid: {loss: [{loss.name: npairs}, {loss.name: proxy-anchor, optimizer.proxy_rate: 100}]}",
			"loss.name", "loss.name optimizer.proxy_rate", "optimizer.proxy_rate from loss.name"},
		"no key in every entry": {"grid: {damage: [{data.corrupt.train: impulse=0.1, data.corrupt.test: impulse=0.1}, {data.corrupt.test: impulse=0.1}, {data.corrupt.train: labels=0.1}]}",
			"data.corrupt.train data.corrupt.test", "data.corrupt.test data.corrupt.train", ""},
		"what the size gives": {"grid: {model.input.size: [64, 1024]}", "model.input.size", "model.input.size", "data.shorter from model.input.size"},
		"what the size gives, beside draws": {"random: {trials: 6, values: {optimizer.rate: {log: [1e-5, 1e-2]}, model.input.size: [64, 1024]}}",
			"optimizer.rate model.input.size", "model.input.size optimizer.rate", "data.shorter from model.input.size"},
	} {
		sweep, compare := tableOf(t, c.text, true), tableOf(t, c.text, false)
		if got := strings.Join(sweep.Columns, " "); got != c.columns {
			t.Errorf("%s: sweep shows %q, want %q", name, got, c.columns)
		}
		if got := strings.Join(compare.Columns, " "); got != c.compared {
			t.Errorf("%s: compare shows %q, want %q", name, got, c.compared)
		}
		var following []string
		for _, f := range sweep.Following {
			following = append(following, f.Place+" from "+strings.Join(f.From, " "))
		}
		if c.following == "" && len(following) > 0 || c.following != "" && !slices.Contains(following, c.following) {
			t.Errorf("%s: %q follow, want %q", name, following, c.following)
		}
		var rows []string
		for _, g := range sweep.Groups {
			rows = append(rows, strings.Join(g.Labels, "|"))
		}
		slices.Sort(rows)
		if len(slices.Compact(rows)) != len(sweep.Groups) {
			t.Errorf("%s: %d groups have the labels %q", name, len(sweep.Groups), rows)
		}
		var csv, json bytes.Buffer
		if err := sweep.WriteCSV(&csv); err != nil {
			t.Fatal(err)
		}
		if err := sweep.WriteJSON(&json); err != nil {
			t.Fatal(err)
		}
		for column := range strings.FieldsSeq(c.columns) {
			if head, _, _ := strings.Cut(csv.String(), "\n"); !strings.Contains(head, column) || !strings.Contains(json.String(), `"`+column+`": `) {
				t.Errorf("%s: %s is missing in\n%s\n%s", name, column, csv.String(), json.String())
			}
		}
	}
}

func TestWhatVariesHasAColumnThoughRunsAreMissing(t *testing.T) {
	f, err := Parse("s.yaml", []byte("base: {data: {spec: glyphs}}\ngrid: {loss.name: [triplet], optimizer.rate: [0.1, 0.2], epochs: [3], loss.params.margin: [0.1, 0.2]}"))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := f.Plan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	order := f.Order(jobs)
	if !slices.Equal(order, []string{"optimizer.rate", "loss.params.margin"}) {
		t.Fatalf("order %q", order)
	}
	one := Run{Folder: jobs[0].Name, Values: settingsOf(jobs[0].Config), Figures: map[string]float64{"recall@1": 50}}
	table, err := Compare([]Run{one}, Options{Order: order, With: f.With()})
	if err != nil || !slices.Equal(table.Columns, order) || !slices.Equal(table.Groups[0].Labels, []string{"0.1", "0.1"}) {
		t.Errorf("columns %q, %+v (%v)", table.Columns, table.Groups[0].Labels, err)
	}
}
