package trace

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Row is the work of one kind and the same shapes.
type Row struct {
	Kind, Shapes string
	Calls        int
	Time         time.Duration // without that of work inside
	FLOPs, Bytes float64       // of all calls
}

// Table is what a step's time went to.
type Table struct {
	Rows []Row         // the most time first
	Sum  time.Duration // of the rows
	Step time.Duration // of the outermost spans, which have no row
}

// Tabulate sums the spans that are inside of others, by kind and shapes.
func Tabulate(spans []Span) Table {
	var t Table
	at := map[string]int{}
	for _, s := range spans {
		if s.Depth == 0 {
			t.Step += s.Time
			continue
		}
		key := fmt.Sprint(s.Work.Kind, s.Work.In, s.Work.Out)
		i, ok := at[key]
		if !ok {
			i = len(t.Rows)
			at[key] = i
			t.Rows = append(t.Rows, Row{Kind: s.Work.Kind, Shapes: shapes(s.Work.In, s.Work.Out)})
		}
		r := &t.Rows[i]
		r.Calls++
		r.Time += s.Self()
		r.FLOPs += s.Work.FLOPs
		r.Bytes += s.Work.Bytes
		t.Sum += s.Self()
	}
	slices.SortStableFunc(t.Rows, func(a, b Row) int { return cmp.Compare(b.Time, a.Time) })
	return t
}

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

// Write prints at most limit rows, a row for the others, and how much of
// the step the rows are.
func (t Table) Write(w io.Writer, limit int) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "op\tshapes\tcalls\tms\tshare\tGFLOPS\tGB/s")
	others := Row{Kind: "all others"}
	for i, r := range t.Rows {
		if i < limit {
			t.writeRow(tw, r)
			continue
		}
		others.Calls += r.Calls
		others.Time += r.Time
		others.FLOPs += r.FLOPs
		others.Bytes += r.Bytes
	}
	if others.Calls > 0 {
		t.writeRow(tw, others)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "ops: %.2f ms, %.1f%% of the step's %.2f ms\n", ms(t.Sum), 100*t.share(t.Sum), ms(t.Step))
	return err
}

func (t Table) writeRow(w io.Writer, r Row) {
	fmt.Fprintf(w, "%s\t%s\t%d\t%.3f\t%.1f%%\t%s\t%s\n", r.Kind, r.Shapes, r.Calls, ms(r.Time), 100*t.share(r.Time), rate(r.FLOPs, r.Time), rate(r.Bytes, r.Time))
}

// share is a time in terms of the step's.
func (t Table) share(d time.Duration) float64 {
	if t.Step <= 0 {
		return 0
	}
	return float64(d) / float64(t.Step)
}

// rate is in 1e9 a second; a dash where there is nothing to count.
func rate(n float64, d time.Duration) string {
	if n == 0 || d <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", n/float64(d.Nanoseconds()))
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
