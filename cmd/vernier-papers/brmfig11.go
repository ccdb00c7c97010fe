package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/linear"
)

func newBRMFig11(log *logrus.Logger) *cobra.Command {
	f := &cli.ComparisonFlags{}
	var data, mnist, out string
	var tables []string
	var penalty float64
	var threads int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "brm-fig11 --data DIR",
		Short: "Errors under noise on test rows, and on all rows (BRM Fig. 11)",
		Long: `Compare learners on rows corrupted as BRM section 5.4.1 does: Gaussian noise of
variance 0.1 on standardized columns, on the test rows alone and on all rows; and
besides impulses, which replace 10% of all features by plus or minus five
deviations. brm-r-held is BRM-R with the penalty --penalty on leaving its start.

The paper shows bars without numbers; its robust competitors are not among ours.`,
		Example: "  vernier-papers brm-fig11 --data tables --mnist mnist --out runs/fig11",
		Args:    cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				return cli.Usagef("--data is missing: the folder of the tables")
			}
			if _, err := f.Complete(); err != nil {
				return err
			}
			if len(tables) > 1 && (f.Markdown != "" || f.JSON != "" || f.Plot != "") {
				return cli.Usagef("--markdown, --json and --plot take one table, there are %d: choose one by --tables, or give --out", len(tables))
			}
			candidates, err := experimentCandidates(f.Learners)
			if err != nil {
				return err
			}
			candidates = append(candidates, linear.Candidate{Name: "brm-r-held", Make: func(e linear.Env) linear.Learner {
				return linear.BRMR{Stochastic: linear.Stochastic{Env: e, Penalty: penalty}}
			}})
			if err := outFolder(out); err != nil {
				return err
			}
			return cli.WithCPU(threads, func(eng linear.Engine) error {
				found := false
				for _, name := range tables {
					there, err := fig11Table(cmd, log, f, eng, name, data, mnist, out, seed, candidates)
					if err != nil {
						return err
					}
					found = found || there
				}
				if !found {
					return fmt.Errorf("%s holds none of the tables", data)
				}
				return nil
			})
		},
	}
	f.Add(cmd, []string{"euclidean", "lmnn", "itml", "gmml", "cap", "euclidean-r", "brm-c", "brm-r"}, []string{"brm-r"})
	fl := cmd.Flags()
	fl.StringVar(&data, "data", "", "folder of the tables, as CSV with or without .gz")
	fl.StringVar(&mnist, "mnist", "", "folder of MNIST in its own format")
	fl.StringSliceVar(&tables, "tables", []string{"mnist", "letters"}, "tables of BRM Table 3 to compare on, separated by commas")
	fl.StringVar(&out, "out", "", "folder for a Markdown table and a picture of each table")
	fl.Float64Var(&penalty, "penalty", 3e-3, "penalty of the learner brm-r-held on leaving its start")
	fl.Uint64Var(&seed, "seed", 0, "seed of the first random split; the next splits take the next seeds")
	fl.IntVar(&threads, "threads", 0, cli.CPUThreadsHelp)
	return cmd
}

func fig11Table(cmd *cobra.Command, log *logrus.Logger, f *cli.ComparisonFlags, eng linear.Engine, name, data, mnist, out string, seed uint64, candidates []linear.Candidate) (bool, error) {
	var p *paperTable
	for _, q := range paperTables() {
		if q.name == name {
			p = &q
		}
	}
	t, err := p.read(data, mnist, seed)
	if errors.Is(err, os.ErrNotExist) {
		log.Warnf("%s is not there and left out", name)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var done []*linear.Comparison
	for _, noise := range []linear.Noise{
		{}, {Kind: linear.Gaussian, Level: .1}, {Kind: linear.Gaussian, Level: .1, OnTrain: true},
		{Kind: linear.Impulse, Level: .1}, {Kind: linear.Impulse, Level: .1, OnTrain: true},
	} {
		where := "test"
		if noise.OnTrain {
			where = "all rows"
		}
		t.Name = strings.TrimSpace(fmt.Sprintf("%s %s", noise.Kind, where))
		if noise.Kind == linear.NoNoise {
			t.Name = "clean"
		}
		c, err := cli.Compare(cmd, log, t, candidates, linear.Trials{Trials: f.Trials, Seed: seed, Components: p.components, Noise: noise, Engine: eng})
		if err != nil {
			return false, err
		}
		done = append(done, c)
	}
	if f.JSON != "-" {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n", name)
	}
	if err := f.Report(cmd.OutOrStdout(), name+" under noise", done); err != nil {
		return false, err
	}
	if out == "" {
		return true, nil
	}
	if err := linear.PlotErrors(filepath.Join(out, "fig11-"+name+".png"), name+" under noise", done); err != nil {
		return false, err
	}
	return true, wholefile.Write(filepath.Join(out, "fig11-"+name+".md"), func(w io.Writer) error { return linear.WriteMarkdown(w, done, f.References, f.Level) })
}
