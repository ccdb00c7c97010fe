package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/train"
)

// dryRunForms are the values of --dry-run.
var dryRunForms = []string{"text", "json"}

// dryRun says what a run would take.
func (f *trainFlags) dryRun(cmd *cobra.Command, eng engine.Engine, opt train.Options) error {
	e, err := train.DryRun(cmd.Context(), f.cfg, eng, opt)
	if err != nil {
		return err
	}
	if f.dry == "json" {
		return cli.WriteJSON(cmd.OutOrStdout(), e)
	}
	return printEstimate(cmd.OutOrStdout(), e)
}

func printEstimate(w io.Writer, e *train.Estimate) error {
	lines := [][2]string{
		{"engine", e.Engine},
		{"parameters", fmt.Sprintf("%d, of which %d are trained and %d frozen", e.Trained+e.Frozen, e.Trained, e.Frozen)},
	}
	lines = append(lines, memoryLines(e)...)
	for _, line := range append(lines, [][2]string{
		{"a step", fmt.Sprintf("%.3f s (%s, %.2f images/s, measured on %s)", e.StepSeconds, plural.Of(e.Batch, "image"), e.ImgS, plural.Of(e.Samples, "step"))},
		{"steps", fmt.Sprintf("%d in %s of %d", e.Steps, plural.Of(e.Epochs, "epoch"), e.StepsAnEpoch)},
		{"validation", validationLine(e)},
		{"at the end", fmt.Sprintf("%.0f s: %s of %s embedded by the trained and by the untrained network and as raw pixels, %s of k-means each (from figures of %d); %.0f s more if the last epoch is not the best", e.End.Seconds, plural.Of(e.End.Images, "test image"), plural.Of(e.End.Classes, "class"), plural.Of(e.End.Restarts, "run"), e.End.Sample, e.End.LastSeconds)},
		{"in all", (time.Duration(e.Hours * float64(time.Hour))).Round(time.Second).String()},
	}...) {
		if _, err := fmt.Fprintf(w, "%-11s %s\n", line[0], line[1]); err != nil {
			return err
		}
	}
	if e.WarmUp > 0 {
		_, err := fmt.Fprintf(w, "%-11s %s at the beginning, for the head alone, will take less\n", "", plural.Of(e.WarmUp, "epoch"))
		return err
	}
	return nil
}

// validationLine says what the validations after the epochs take.
func validationLine(e *train.Estimate) string {
	if e.Embedded == 0 {
		return "none"
	}
	return fmt.Sprintf("%s embedded after each of %s (%d in all), %.1f images/s",
		plural.Of(e.Embedded/e.Epochs, "image"), plural.Of(e.Epochs, "epoch"), e.Embedded, 1/e.EmbedSeconds)
}

// memoryLines say what a run takes of the host's memory, and of a device's own.
func memoryLines(e *train.Estimate) [][2]string {
	mib := func(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
	m, d := e.Memory, e.Memory.Device
	all := fmt.Sprintf("%s of %s that can be had", mib(e.Total), mib(e.Room))
	host := fmt.Sprintf("program %s, loss %s, batches %s, decoded pictures %s, validation or checkpoint %s, garbage %s; the final measurement %s in all", mib(m.Program), mib(m.Loss), mib(m.Batches), mib(m.Pictures), mib(m.Aside), mib(m.Collector), mib(m.End))
	if d == nil {
		return [][2]string{{"memory", all},
			{"", fmt.Sprintf("weights %s, optimizer %s, activations and gradients %s, workspace %s", mib(m.Weights), mib(m.Optimizer), mib(m.Activations), mib(m.Workspace))},
			{"", host}}
	}
	return [][2]string{{"memory", "of the host " + all}, {"", host},
		{"", fmt.Sprintf("of the device %s of %s that can be had", mib(e.DeviceTotal), mib(e.DeviceRoom))},
		{"", fmt.Sprintf("weights %s, optimizer %s, activations and gradients %s, workspace %s, batches %s, validation %s; the final measurement %s in all",
			mib(d.Weights), mib(d.Optimizer), mib(d.Activations), mib(d.Workspace), mib(d.Batches), mib(d.Validation), mib(d.End))}}
}

// byteSizes are the units of sizes; those without i are the same, as people mean
// them.
var byteSizes = []struct {
	unit  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"", 1}}

// maxBytes keeps sums of sizes within an int64.
const maxBytes = math.MaxInt64/2 + 1

// parseBytes reads a size such as 8GiB, 1.5G or 500M.
func parseBytes(text string) (int64, error) {
	for _, s := range byteSizes {
		number, ok := strings.CutSuffix(text, s.unit)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		switch {
		case errors.Is(err, strconv.ErrRange) || err == nil && v*s.bytes > maxBytes:
			return 0, fmt.Errorf("must be at most %dTiB", int64(maxBytes)>>40)
		case err != nil || !(v > 0):
			return 0, fmt.Errorf("%q is no size such as 8GiB or 500M", text)
		}
		return int64(v * s.bytes), nil
	}
	return 0, fmt.Errorf("%q is no size such as 8GiB or 500M", text)
}
