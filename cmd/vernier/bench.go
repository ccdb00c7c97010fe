package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"text/tabwriter"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/bench"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/trace"
)

type benchFlags struct {
	batch, threads, rounds  int
	goroutines              int // that are ranks
	seconds                 float64
	asJSON                  bool
	device                  cli.DeviceFlags
	ranks                   cli.RankFlags
	compare, pattern, trace string
}

func newBench(log *logrus.Logger) *cobra.Command {
	f := &benchFlags{}
	cmd := &cobra.Command{
		Use:   "bench NAME",
		Short: "Measure how fast this machine computes, beside another program if asked",
		Long: `Time a benchmark of vernier bench list, or one case of it, as in gemm/1024: the
median over at least three iterations, the distance of the quartiles (spread),
images a second, GFLOPS and their share of what the kernels reach on this machine
without anything around them, which is measured first, and the peak of memory. On
a GPU also how many convolutions, if any, cuDNN has no algorithm for (in JSON
convolutions_without_cudnn): a much slower kernel computes them.

GFLOPS count the multiplications and additions of the definition, of a network
those of its products; a fast convolution needs fewer, and may pass the limit.

--compare runs another program in turn with the benchmark, --rounds times each,
and gives the ratio of the medians; above 1, Vernier is the faster. The program
prints its number in a JSON object on a line of its own, the last of its output,
as img_s, gflops, queries_s or seconds (of one iteration); of a network also as
train_img_s, infer_seconds and so on. With --peer-pattern its number is what the
first group of a regular expression finds last; a group named img_s, gflops,
queries_s or seconds says what it is. The program's environment makes glibc keep
freed memory (MALLOC_*), as Vernier does, and chooses no kernels of OpenBLAS.

--trace, for the networks, takes the time of every operation of one more step: a
table of the kinds of operations, one of the kinds and shapes that take the most,
with the share of the step, GFLOPS and GB/s (of what is read and written, each
number once), and a file that chrome://tracing and ui.perfetto.dev open. With
--json the tables are in the object, as trace. On a GPU the times are those of its
queue; there that step is launched operation by operation and is slower than the
others.

allreduce times sums over ranks, in the order that training takes: of the
processes that mpirun or srun has started, or without a launcher of goroutines.
An iteration ends with the slowest rank. Its rate is the bytes of one rank's
numbers by the time (bytes_s).`,
		Example: `  vernier bench list
  vernier bench gemm/1024
  vernier bench bninception-train --batch 32 --json
  vernier bench bninception-train --trace step.json
  vernier bench allreduce/10.3M --ranks 4
  mpirun -n 2 --bind-to none vernier-mpi bench allreduce
  vernier bench bninception-train --compare "python3 bench/torchpeer.py bninception --batch 16 --only train"
  vernier bench vit-s-infer --compare ./other --peer-pattern '(?P<seconds>[0-9.]+) s a batch'`,
		Args: cli.Takes(false, "NAME (vernier bench list shows them)"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], log) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.batch, "batch", 0, "images that are computed at a time (default the benchmark's own)")
	fl.Float64Var(&f.seconds, "seconds", 5, "time to measure a case for")
	f.device.Add(fl)
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default all cores)")
	fl.BoolVar(&f.asJSON, "json", false, "print a JSON object a line")
	fl.StringVar(&f.compare, "compare", "", "command, for a shell, to measure in turn with the benchmark")
	fl.StringVar(&f.pattern, "peer-pattern", "", "regular expression that finds the command's number (default the last JSON object that it prints)")
	fl.IntVar(&f.rounds, "rounds", 3, "turns of a comparison with --compare")
	fl.IntVar(&f.goroutines, "ranks", 2, "ranks of allreduce where no launcher has started several: goroutines of this process")
	f.ranks.Add(fl)
	fl.StringVar(&f.trace, "trace", "", "file to write the times of a step's operations to, for a trace viewer")
	return cmd
}

func (f *benchFlags) run(cmd *cobra.Command, name string, log *logrus.Logger) (err error) {
	out := cmd.OutOrStdout()
	if name == "list" {
		return listBenchmarks(out, f.asJSON)
	}
	b, err := bench.Find(name)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	if b.ForRanks() {
		if err := checkForRanks(cmd, b); err != nil {
			return err
		}
		return f.ranks.Run(cmd, log, func(ranks comm.Comm) error { return f.together(cmd.Context(), out, b, ranks) })
	}
	if err := cli.WorksAsOne(cmd); err != nil {
		return err
	}
	peer, err := f.check(cmd, b)
	if err != nil {
		return err
	}
	t, err := f.openTrace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	eng, err := f.device.Open(f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	opt := bench.Options{Batch: f.batch, Span: time.Duration(f.seconds * float64(time.Second))}
	var any engine.Engine = eng
	if l, ok := any.(bench.Limiter); ok {
		opt.Limit = l.KernelLimit()
		log.Infof("%s: the kernels reach %.0f GFLOPS", eng.Name(), opt.Limit/1e9)
	}
	if f.compare != "" {
		return f.versus(cmd.Context(), out, b, eng, opt, peer, log)
	}
	return f.measure(cmd.Context(), out, b, eng, opt, t, log)
}

// checkForRanks refuses settings that mean nothing for ranks, which run no engine.
func checkForRanks(cmd *cobra.Command, b bench.Benchmark) error {
	for _, name := range []string{"batch", "device", "precision", "deterministic", "threads", "compare", "peer-pattern", "rounds", "trace"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s: %s runs no engine", name, b.Name)
		}
	}
	return nil
}

// together measures every case of a benchmark for ranks: goroutines if this process is alone.
func (f *benchFlags) together(ctx context.Context, w io.Writer, b bench.Benchmark, ranks comm.Comm) error {
	if ranks.Size() == 1 {
		return comm.Local(f.goroutines, func(c comm.Comm) error { return f.measureRanks(ctx, w, b, c) })
	}
	return f.measureRanks(ctx, w, b, ranks)
}

func (f *benchFlags) measureRanks(ctx context.Context, w io.Writer, b bench.Benchmark, ranks comm.Comm) error {
	if ranks.Rank() > 0 {
		w = io.Discard
	}
	if !f.asJSON {
		fmt.Fprintf(w, "%s\n%-20s %12s %12s %8s %12s\n", ranks.Name(), b.Name, "seconds", "fastest", "spread", "GB/s")
	}
	for _, c := range b.Cases {
		r, err := b.Together(ctx, ranks, c, time.Duration(f.seconds*float64(time.Second)))
		if err != nil {
			return err
		}
		if f.asJSON {
			err = cli.WriteJSONLine(w, r)
		} else {
			_, err = fmt.Fprintf(w, "%-20s %12.9f %12.9f %7.1f%% %12.3f\n", benchLabel(r.Name, r.Case), r.Seconds, r.Fastest, 100*r.Spread, r.BytesS/1e9)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check refuses settings that mean nothing.
func (f *benchFlags) check(cmd *cobra.Command, b bench.Benchmark) (p bench.Peer, err error) {
	switch {
	case cmd.Flags().Changed("ranks"):
		return p, cli.Usagef("--ranks: %s runs as one; allreduce has ranks", b.Name)
	case f.batch > 0 && b.Batch == 0:
		return p, cli.Usagef("--batch: %s has no batch", b.Name)
	case f.compare == "" && f.pattern != "":
		return p, cli.Usagef("--peer-pattern needs --compare")
	case f.compare != "" && len(b.Cases) > 1:
		return p, cli.Usagef("--compare takes one case: say which, as in %s/%s", b.Name, b.Cases[0].Name)
	case f.trace != "" && f.compare != "":
		return p, cli.Usagef("--trace and --compare exclude each other")
	case f.trace != "" && !b.Traced:
		return p, cli.Usagef("--trace: %s does not run a network; bninception-train does", b.Name)
	case f.trace != "" && len(b.Cases) > 1:
		return p, cli.Usagef("--trace takes one case: say which, as in %s/%s", b.Name, b.Cases[0].Name)
	}
	p.Command = f.compare
	if f.pattern != "" {
		p.Pattern, err = regexp.Compile(f.pattern)
	}
	return p, err
}

func listBenchmarks(w io.Writer, asJSON bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, b := range bench.All() {
		if asJSON {
			line := struct {
				Name  string   `json:"name"`
				Text  string   `json:"text"`
				Batch int      `json:"batch,omitempty"`
				Cases []string `json:"cases,omitempty"`
			}{Name: b.Name, Text: b.Text, Batch: b.Batch, Cases: caseNames(b)}
			if err := cli.WriteJSONLine(w, line); err != nil {
				return err
			}
			continue
		}
		text := b.Text
		if b.Batch > 0 {
			text += fmt.Sprintf("; batch %d", b.Batch)
		}
		fmt.Fprintf(t, "%s\t%s\n", b.Name, text)
		for _, name := range caseNames(b) {
			fmt.Fprintf(t, "  /%s\n", name)
		}
	}
	return t.Flush()
}

func caseNames(b bench.Benchmark) (names []string) {
	for _, c := range b.Cases {
		if c.Name != "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// measure runs every case and prints each as soon as it is known.
func (f *benchFlags) measure(ctx context.Context, w io.Writer, b bench.Benchmark, eng engine.Engine, opt bench.Options, t *benchTrace, log *logrus.Logger) error {
	if !f.asJSON {
		fmt.Fprintf(w, benchHead, b.Name, "seconds", "spread", "rate", "GFLOPS", "of limit", "peak MiB")
	}
	euclidean := 0. // seconds of the case that others are held against
	for _, c := range b.Cases {
		log.Infof("%s: measuring for %.1f s", benchLabel(b.Name, c.Name), f.seconds)
		r, table, err := measureOnce(ctx, b, c, eng, opt, t, log)
		if err != nil {
			return err
		}
		if c.Name == bench.EuclideanForward {
			euclidean = r.Seconds
		}
		if euclidean > 0 {
			r.Versus = r.Seconds / euclidean
		}
		if err := f.printTrace(w, r, table); err != nil {
			return err
		}
	}
	return nil
}

// measureOnce measures a case, and then traces a step of it if t is not nil.
func measureOnce(ctx context.Context, b bench.Benchmark, c bench.Case, eng engine.Engine, opt bench.Options, t *benchTrace, log *logrus.Logger) (result bench.Result, table *trace.Table, err error) {
	r, err := b.Start(ctx, c, eng, opt)
	if err != nil {
		return result, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if result, _, err = r.Measure(ctx); err != nil {
		return result, nil, err
	}
	table, err = t.take(r, eng, log)
	return result, table, err
}

const (
	benchHead = "%-28s %10s %7s %14s %8s %8s %9s\n"
	benchLine = "%-28s %10.6f %6.1f%% %14s %8.1f %8s %9.0f"
)

func printResult(w io.Writer, r bench.Result) {
	rate, share := "", ""
	switch {
	case r.QueriesS > 0:
		rate = fmt.Sprintf("%.1f queries/s", r.QueriesS)
	case r.ImgS > 0:
		rate = fmt.Sprintf("%.2f img/s", r.ImgS)
	}
	if r.Share > 0 {
		share = fmt.Sprintf("%.0f%%", 100*r.Share)
	}
	fmt.Fprintf(w, benchLine, benchLabel(r.Name, r.Case), r.Seconds, 100*r.Spread, rate, r.GFLOPS, share, r.Peak)
	if r.Versus > 0 {
		fmt.Fprintf(w, "  %.1f x euclidean-forward", r.Versus)
	}
	if r.WithoutCuDNN != nil && *r.WithoutCuDNN > 0 {
		fmt.Fprintf(w, "  %s without cuDNN, far slower", plural.Of(*r.WithoutCuDNN, "convolution"))
	}
	fmt.Fprintln(w)
}

func benchLabel(name, kind string) string {
	if kind == "" {
		return name
	}
	return name + "/" + kind
}

// versus measures one case and the peer in turn.
func (f *benchFlags) versus(ctx context.Context, w io.Writer, b bench.Benchmark, eng engine.Engine, opt bench.Options, p bench.Peer, log *logrus.Logger) (err error) {
	r, err := b.Start(ctx, b.Cases[0], eng, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	label := benchLabel(b.Name, b.Cases[0].Name)
	log.Infof("%s: %s with %s", label, plural.Of(f.rounds, "turn"), f.compare)
	c, err := bench.Compare(ctx, r, p, f.rounds, func(round int, ours, other float64) {
		log.Infof("turn %d: %.2f, peer %.2f", round+1, ours, other)
	})
	if err != nil {
		return err
	}
	if f.asJSON {
		return cli.WriteJSONLine(w, c)
	}
	fmt.Fprintf(w, "%s: %.2f %s (median of %s), peer %.2f: ratio %.2f\n", label, c.OursMedian, c.Unit, plural.Of(len(c.Ours), "turn"), c.OtherMedian, c.Ratio)
	if n := c.WithoutCuDNN; n != nil && *n > 0 {
		fmt.Fprintf(w, "%s without cuDNN, far slower\n", plural.Of(*n, "convolution"))
	}
	if c.OursPeak > 0 && c.OtherPeak > 0 {
		fmt.Fprintf(w, "peak of memory: %.0f MiB, peer %.0f MiB\n", c.OursPeak, c.OtherPeak)
	}
	return nil
}
