package trace

// Report is a Table for JSON. Calls and seconds are those of one step, the mean of all.
type Report struct {
	Steps   int     `json:"steps"`
	Seconds float64 `json:"seconds"`           // of a step
	Sum     float64 `json:"operations"`        // seconds of all operations
	Waiting float64 `json:"waiting,omitempty"` // share of a step that it waited for pictures
	Phases  []Line  `json:"phases"`
	Kinds   []Line  `json:"kinds"`
	Rows    []Line  `json:"shapes"` // by kind and shapes
}

// Line is a Row of a Report.
type Line struct {
	Kind    string  `json:"kind"`
	Shapes  string  `json:"shapes,omitempty"`
	Calls   float64 `json:"calls"`
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"`
	GFLOPS  float64 `json:"gflops,omitempty"`
	GBs     float64 `json:"gb_s,omitempty"`
}

// Report returns the table for JSON.
func (t Table) Report() Report {
	return Report{
		Steps: t.Steps, Seconds: t.seconds(t.Step), Sum: t.seconds(t.Sum), Waiting: t.Waiting(),
		Phases: t.lines(t.Phases), Kinds: t.lines(t.Kinds), Rows: t.lines(t.Rows),
	}
}

func (t Table) lines(rows []Row) []Line {
	list := make([]Line, 0, len(rows))
	for _, r := range rows {
		list = append(list, Line{
			Kind: r.Kind, Shapes: r.Shapes, Calls: float64(r.Calls) / float64(max(1, t.Steps)), Seconds: t.seconds(r.Time),
			Share: t.share(r.Time), GFLOPS: rate(r.FLOPs, r.Time), GBs: rate(r.Bytes, r.Time),
		})
	}
	return list
}
