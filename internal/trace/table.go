package trace

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/vernier-ml/vernier/engine"
)

// Row is the work of one kind, and of the same shapes or of all.
type Row struct {
	Kind, Shapes string
	Calls        int
	Time         time.Duration // without that of work inside
	FLOPs, Bytes float64       // of all calls
}

// add counts a span in.
func (r *Row) add(s Span) {
	r.Calls++
	r.Time += s.Self()
	r.FLOPs += s.Work.FLOPs
	r.Bytes += s.Work.Bytes
}

// KindWait is the kind of work in which a step waits for its pictures.
const KindWait = "wait for pictures"

// Table is what the time of steps went to.
type Table struct {
	Rows   []Row         // by kind and shapes, the most time first
	Kinds  []Row         // by kind, the most time first
	Phases []Row         // by phase, in the order of a step; Kind is the phase
	Sum    time.Duration // of the rows
	Step   time.Duration // of the outermost spans, which have no row
	Steps  int           // the number of these
}

// phases in the order of a step.
var phases = []engine.Phase{engine.PhaseData, engine.PhaseForward, engine.PhaseLoss, engine.PhaseBackward, engine.PhaseOptimizer}

// Tabulate sums the spans that are inside of others.
func Tabulate(spans []Span) Table {
	var t Table
	rows, kinds := map[string]*Row{}, map[string]*Row{}
	parts := map[engine.Phase]*Row{}
	for _, p := range phases {
		parts[p] = &Row{Kind: string(p)}
	}
	for _, s := range spans {
		if s.Depth == 0 {
			t.Step += s.Time
			t.Steps++
			continue
		}
		kind, in, out := s.Work.Kind, s.Work.In, s.Work.Out
		rowOf(rows, fmt.Sprint(kind, in, out), Row{Kind: kind, Shapes: shapes(in, out)}).add(s)
		rowOf(kinds, kind, Row{Kind: kind}).add(s)
		if p := parts[s.Work.Phase]; p != nil {
			p.add(s)
		}
		t.Sum += s.Self()
	}
	t.Rows, t.Kinds = byTime(rows), byTime(kinds)
	for _, p := range phases {
		if parts[p].Calls > 0 {
			t.Phases = append(t.Phases, *parts[p])
		}
	}
	return t
}

// rowOf returns the row of a key, which is new at first.
func rowOf(rows map[string]*Row, key string, new Row) *Row {
	if rows[key] == nil {
		rows[key] = &new
	}
	return rows[key]
}

// byTime lists rows, the most time first.
func byTime(rows map[string]*Row) []Row {
	list := make([]Row, 0, len(rows))
	for _, r := range rows {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Shapes, b.Shapes))
	})
	return list
}

// Waiting is the share of the steps' time in which they waited for pictures.
func (t Table) Waiting() float64 {
	for _, r := range t.Kinds {
		if r.Kind == KindWait {
			return t.share(r.Time)
		}
	}
	return 0
}

// Each is the mean time of a step.
func (t Table) Each() time.Duration { return t.Step / time.Duration(max(1, t.Steps)) }

// shapes writes the first two inputs and the first output, as in
// "16x64x56x56 192x64x3x3 -> 16x192x56x56".
func shapes(in, out [][]int) string {
	var parts []string
	for _, s := range in[:min(2, len(in))] {
		parts = append(parts, shape(s))
	}
	if len(out) > 0 {
		parts = append(parts, "->", shape(out[0]))
	}
	return strings.Join(parts, " ")
}

func shape(s []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(s), " ", "x"), "[]") }

// Write prints the kinds, at most limit rows of kinds and shapes with one row for the
// others, the share of each phase, and how much of the steps the rows are. Calls and
// times are those of one step, the mean of all.
func (t Table) Write(w io.Writer, limit int) error {
	if err := t.writeRows(w, "kind", t.Kinds, len(t.Kinds)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := t.writeRows(w, "op", t.Rows, limit); err != nil {
		return err
	}
	fmt.Fprintln(w)
	var parts []string
	for _, p := range t.Phases {
		parts = append(parts, fmt.Sprintf("%s %.1f%%", p.Kind, 100*t.share(p.Time)))
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "phases: %s\n", strings.Join(parts, ", "))
	}
	_, err := fmt.Fprintf(w, "ops: %.2f ms, %.1f%% of the step's %.2f ms\n", t.ms(t.Sum), 100*t.share(t.Sum), t.ms(t.Step))
	return err
}

// writeRows prints one table, with shapes if its first column is "op".
func (t Table) writeRows(w io.Writer, first string, rows []Row, limit int) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(kind, shapes string, rest ...string) {
		cells := append([]string{kind, shapes}, rest...)
		if first == "kind" {
			cells = append([]string{kind}, rest...)
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	line(first, "shapes", "calls", "ms", "share", "GFLOPS", "GB/s")
	others := Row{Kind: "all others"}
	write := func(r Row) {
		line(r.Kind, r.Shapes, fmt.Sprintf("%.4g", float64(r.Calls)/float64(max(1, t.Steps))), fmt.Sprintf("%.3f", t.ms(r.Time)),
			fmt.Sprintf("%.1f%%", 100*t.share(r.Time)), text(rate(r.FLOPs, r.Time)), text(rate(r.Bytes, r.Time)))
	}
	for i, r := range rows {
		if i < limit {
			write(r)
			continue
		}
		others.Calls += r.Calls
		others.Time += r.Time
		others.FLOPs += r.FLOPs
		others.Bytes += r.Bytes
	}
	if others.Calls > 0 {
		write(others)
	}
	return tw.Flush()
}

// share is a time in terms of the steps'.
func (t Table) share(d time.Duration) float64 {
	if t.Step <= 0 {
		return 0
	}
	return float64(d) / float64(t.Step)
}

// ms is the part of a time that falls to one step, in milliseconds.
func (t Table) ms(d time.Duration) float64 { return 1e3 * t.seconds(d) }

// seconds is the part of a time that falls to one step.
func (t Table) seconds(d time.Duration) float64 { return d.Seconds() / float64(max(1, t.Steps)) }

// rate is in 1e9 a second; 0 where there is nothing to count.
func rate(n float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return n / float64(d.Nanoseconds())
}

// text writes a rate, as a dash where there is none.
func text(rate float64) string {
	if rate == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", rate)
}
