package main

import (
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// measureRows measures pairs of rows that another program made.
func (f *verifyFlags) measureRows(cmd *cobra.Command, log *logrus.Logger) error {
	r, err := readRows(f.rows.embeddings, f.rows.labels, "", "--labels")
	if err != nil {
		return err
	}
	m, err := r.compareBy(cmd.Flags().Lookup("metric"))
	if err != nil {
		return err
	}
	if f.threshold < 0 && m.Kind != metric.Dot {
		return cli.Usagef("--threshold %v: want at least 0, as distances by %s are", f.threshold, eval.DistanceName(m))
	}
	names, of := number(r.labels)
	r.rows.Labels = of[0]
	s := &pairSource{rows: r.rows, name: r.name, metric: m, opt: eval.PairOptions{Max: f.maxPairs, Seed: f.seed, Workers: f.sel.Workers}}
	for _, label := range r.rows.Labels {
		s.identity = append(s.identity, names[label])
	}
	var calibration, test *pairSample
	across := 0
	if f.calibrate == "" {
		test, err = s.whole()
	} else {
		calibration, test, across, err = s.halves(f.share, f.seed)
	}
	if err != nil {
		return err
	}
	return f.rates(cmd, log, &verified{metric: m}, calibration, test, across)
}
