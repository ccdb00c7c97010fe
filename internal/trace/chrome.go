package trace

import (
	"encoding/json"
	"io"
	"time"

	"github.com/vernier-ml/vernier/engine"
)

// event is a complete event of the Trace Event Format (Google, "Trace Event Format",
// 2016), or the name of a lane. Times are microseconds.
type event struct {
	Name     string       `json:"name"`
	Category engine.Phase `json:"cat,omitempty"`
	Type     string       `json:"ph"`
	Start    float64      `json:"ts"`
	Time     float64      `json:"dur,omitempty"`
	Process  int          `json:"pid"`
	Thread   int          `json:"tid"`
	Details  any          `json:"args"`
}

// details are what a viewer shows of an event that is selected.
type details struct {
	Kind  string  `json:"kind"`
	In    [][]int `json:"in,omitempty"`
	Out   [][]int `json:"out,omitempty"`
	FLOPs float64 `json:"flops,omitempty"`
	Bytes float64 `json:"bytes,omitempty"`
}

// lanes of the file. There is that of the host alone, or of a device's queue and of what
// the host asked for meanwhile.
const (
	laneWork = 1
	laneHost = 2
)

// WriteChrome writes the spans of a tracer as JSON that chrome://tracing and
// ui.perfetto.dev open.
func (t *Tracer) WriteChrome(w io.Writer) error {
	spans, err := t.Spans()
	if err != nil {
		return err
	}
	file := struct {
		Events []event `json:"traceEvents"`
		Unit   string  `json:"displayTimeUnit"`
	}{Events: []event{}, Unit: "ms"}
	add := func(s Span, lane int, start, length time.Duration) {
		file.Events = append(file.Events, event{
			Name: s.Work.Name, Category: s.Work.Phase, Type: "X", Process: 1, Thread: lane, Start: micro(start), Time: micro(length),
			Details: details{s.Work.Kind, s.Work.In, s.Work.Out, s.Work.FLOPs, s.Work.Bytes},
		})
	}
	name := func(lane int, name string) {
		file.Events = append(file.Events, event{Name: "thread_name", Type: "M", Process: 1, Thread: lane, Details: map[string]string{"name": name}})
	}
	if t.marks != nil {
		name(laneWork, "queue of the device")
		name(laneHost, "calls by the host")
	}
	for _, s := range spans {
		add(s, laneWork, s.Start, s.Time)
		if t.marks != nil {
			add(s, laneHost, s.Asked, s.Asking)
		}
	}
	return json.NewEncoder(w).Encode(file)
}

// micro is a time in microseconds.
func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
