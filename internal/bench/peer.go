package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Peer is a program that does the same work.
type Peer struct {
	Command string // for a shell
	// Pattern, if not nil, finds the number in what the command prints: its first
	// group, or the one named img_s, gflops, queries_s or seconds, of the last match.
	Pattern *regexp.Regexp
}

// units are the names that a peer's number can have. Seconds are those of one
// iteration, of as many images as Vernier's.
var units = []string{"img_s", "gflops", "queries_s", "seconds"}

// reading is what a peer said.
type reading struct {
	unit  string
	value float64
	peak  float64 // bytes, 0 if not known
	// said is the JSON object in which it was found, nil with a pattern.
	said json.RawMessage
}

// run starts the peer once.
func (p Peer) run(ctx context.Context, name string) (reading, error) {
	cmd, done, err := p.start(ctx)
	if err != nil {
		return reading{}, fmt.Errorf("peer %q: %w", p.Command, err)
	}
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	peak := done()
	if ctx.Err() != nil {
		return reading{}, ctx.Err()
	}
	if err != nil {
		return reading{}, fmt.Errorf("peer %q: %w", p.Command, err)
	}
	r, err := p.read(out, name)
	if err != nil {
		return r, fmt.Errorf("peer %q: %w", p.Command, err)
	}
	if r.peak == 0 {
		r.peak = peak
	}
	return r, nil
}

// read finds the number in a peer's output: by the pattern, or in the last line
// that is a JSON object. There its name is one of units, before which may stand
// what is measured, the last part of name: train_img_s for bninception-train.
func (p Peer) read(out []byte, name string) (r reading, err error) {
	if p.Pattern != nil {
		return p.match(out)
	}
	var object map[string]any
	for line := range bytes.Lines(out) {
		var o map[string]any
		if json.Unmarshal(line, &o) == nil && o != nil {
			object, r.said = o, bytes.TrimSpace(line)
		}
	}
	if object == nil {
		return r, errors.New("it printed no JSON object on a line of its own; say with --peer-pattern where its number is")
	}
	for _, key := range []string{"peak_mib", "peak_mb"} {
		if v, ok := object[key].(float64); ok {
			r.peak = v * (1 << 20)
		}
	}
	kind := name[strings.LastIndex(name, "-")+1:] + "_"
	var wanted []string
	for _, prefix := range []string{kind, ""} {
		for _, unit := range units {
			if v, ok := object[prefix+unit].(float64); ok {
				r.unit, r.value = unit, v
				return r, r.check()
			}
			wanted = append(wanted, prefix+unit)
		}
	}
	return r, fmt.Errorf("its last JSON object has none of %s", strings.Join(wanted, ", "))
}

func (p Peer) match(out []byte) (r reading, err error) {
	all := p.Pattern.FindAllSubmatch(out, -1)
	if len(all) == 0 {
		return r, fmt.Errorf("nothing in its output matches %q", p.Pattern)
	}
	last := all[len(all)-1]
	if len(last) < 2 {
		return r, fmt.Errorf("pattern %q has no group around the number", p.Pattern)
	}
	text := string(last[1])
	for _, unit := range units {
		if i := p.Pattern.SubexpIndex(unit); i > 0 {
			r.unit, text = unit, string(last[i])
		}
	}
	if r.value, err = strconv.ParseFloat(text, 64); err != nil {
		return r, fmt.Errorf("%q, found by %q, is no number", text, p.Pattern)
	}
	return r, r.check()
}

func (r reading) check() error {
	if !(r.value > 0) {
		return fmt.Errorf("it measured %v, which is no rate and no time", r.value)
	}
	return nil
}

// rate turns a number into a rate comparable with the runner's, whose name it
// returns.
func (r reading) rate(of *Runner) (float64, error) {
	switch unit := of.unit(); {
	case r.unit == unit || r.unit == "":
		return r.value, nil
	case r.unit == "seconds":
		return of.perIteration() / r.value, nil
	default:
		return 0, fmt.Errorf("the peer measures %s, %s is measured in %s", r.unit, of.name, unit)
	}
}

// unit names the rate of a case.
func (r *Runner) unit() string {
	switch {
	case strings.HasSuffix(r.name, "-train") || strings.HasSuffix(r.name, "-infer"):
		return "img_s"
	case r.w.queries > 0:
		return "queries_s"
	default:
		return "gflops"
	}
}

// perIteration is what an iteration does, in units.
func (r *Runner) perIteration() float64 {
	switch r.unit() {
	case "img_s":
		return float64(r.w.images)
	case "queries_s":
		return float64(r.w.queries)
	default:
		return r.w.flops / 1e9
	}
}

// Comparison is what two programs reached in turn.
type Comparison struct {
	Name  string    `json:"name"`
	Case  string    `json:"case,omitempty"`
	Peer  string    `json:"peer"`
	Unit  string    `json:"unit"`
	Ours  []float64 `json:"ours"`  // the median rate of each turn
	Other []float64 `json:"other"` // what the peer said in each
	// Medians of these, and their ratio: above 1, Vernier is the faster.
	OursMedian  float64 `json:"ours_median"`
	OtherMedian float64 `json:"other_median"`
	Ratio       float64 `json:"ratio"`
	OursPeak    float64 `json:"ours_peak_mib,omitempty"`
	OtherPeak   float64 `json:"other_peak_mib,omitempty"`
	// OtherSaid is the JSON object that the peer printed in the last turn: a program of
	// bench/ names its version and settings there.
	OtherSaid json.RawMessage `json:"other_said,omitempty"`
	// WithoutCuDNN is of ours, see Result.
	WithoutCuDNN *int `json:"convolutions_without_cudnn,omitempty"`
}

// Compare measures a case and a peer in turn, so that both meet the same load of
// the machine. progress is called after each measurement of ours.
func Compare(ctx context.Context, r *Runner, p Peer, rounds int, progress func(round int, ours, other float64)) (Comparison, error) {
	c := Comparison{Name: r.name, Case: r.kind, Peer: p.Command, Unit: r.unit()}
	for round := range rounds {
		result, times, err := r.Measure(ctx)
		if err != nil {
			return c, err
		}
		c.WithoutCuDNN = result.WithoutCuDNN
		c.Ours = append(c.Ours, r.perIteration()/summary(times).median)
		said, err := p.run(ctx, r.name)
		if err != nil {
			return c, err
		}
		rate, err := said.rate(r)
		if err != nil {
			return c, err
		}
		c.Other = append(c.Other, rate)
		c.OtherPeak, c.OtherSaid = max(c.OtherPeak, said.peak/(1<<20)), said.said
		progress(round, c.Ours[round], rate)
	}
	c.OursMedian, c.OtherMedian = summary(c.Ours).median, summary(c.Other).median
	c.Ratio = c.OursMedian / c.OtherMedian
	c.OursPeak = peakMemory() / (1 << 20)
	return c, nil
}
