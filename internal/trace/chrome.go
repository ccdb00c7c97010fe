package trace

import (
	"encoding/json"
	"io"

	"github.com/vernier-ml/vernier/engine"
)

// event is a complete event of the Trace Event Format (Google, "Trace Event Format",
// 2016). Times are microseconds.
type event struct {
	Name     string       `json:"name"`
	Category engine.Phase `json:"cat"`
	Type     string       `json:"ph"`
	Start    float64      `json:"ts"`
	Time     float64      `json:"dur"`
	Process  int          `json:"pid"`
	Thread   int          `json:"tid"`
	Details  details      `json:"args"`
}

// details are what a viewer shows of an event that is selected.
type details struct {
	Kind  string  `json:"kind"`
	In    [][]int `json:"in,omitempty"`
	Out   [][]int `json:"out,omitempty"`
	FLOPs float64 `json:"flops,omitempty"`
	Bytes float64 `json:"bytes,omitempty"`
}

// WriteChrome writes spans as JSON that chrome://tracing and ui.perfetto.dev open.
func WriteChrome(w io.Writer, spans []Span) error {
	file := struct {
		Events []event `json:"traceEvents"`
		Unit   string  `json:"displayTimeUnit"`
	}{Events: []event{}, Unit: "ms"}
	for _, s := range spans {
		file.Events = append(file.Events, event{
			Name: s.Work.Name, Category: s.Work.Phase, Type: "X", Process: 1, Thread: 1,
			Start: float64(s.Start.Nanoseconds()) / 1e3, Time: float64(s.Time.Nanoseconds()) / 1e3,
			Details: details{s.Work.Kind, s.Work.In, s.Work.Out, s.Work.FLOPs, s.Work.Bytes},
		})
	}
	return json.NewEncoder(w).Encode(file)
}
