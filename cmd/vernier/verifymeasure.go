package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/plot"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// verification is what verify measures.
type verification struct {
	Epoch      int    `json:"epoch"`
	Distance   string `json:"distance"`
	Pairs      string `json:"pairs"` // where they are from
	Identities int    `json:"identities"`
	Same       int    `json:"same_pairs"`
	Different  int    `json:"different_pairs"`
	// All says that these are all pairs that there are, and no sample.
	All bool `json:"all_pairs"`
	// Across counts pairs of a file that were left out because one image is for
	// calibration and one for testing.
	Across int `json:"pairs_across,omitempty"`

	eval.VerificationFigures
	AveragePrecision float64 `json:"average_precision"`
	// AtThreshold is what the threshold does on these pairs.
	AtThreshold *eval.DecisionFigures `json:"at_threshold,omitempty"`
	Calibrated  *model.Threshold      `json:"calibrated,omitempty"`
	Stored      string                `json:"stored,omitempty"` // the file
	Curve       []eval.CurvePoint     `json:"curve,omitempty"`
	// SuperClasses are of the identities of each super-class, if there are any.
	SuperClasses []superRates `json:"super_classes,omitempty"`
}

// measure measures verification on many pairs.
func (f *verifyFlags) measure(cmd *cobra.Command, folder run.Folder, eng engine.Engine, log *logrus.Logger) error {
	m, epoch, err := folder.LoadModel(eng, f.sel.Choice)
	if err != nil {
		return err
	}
	calibration, test, across, err := f.samples(cmd, folder, eng)
	if err != nil {
		return err
	}
	return f.rates(cmd, log, &verified{epoch: epoch, metric: m.Spec.Metric, threshold: m.Threshold, store: func(t *model.Threshold) (string, error) {
		return folder.ModelPath(f.sel.Choice), folder.SaveThreshold(eng, f.sel.Choice, t)
	}}, calibration, test, across)
}

// verified is what pairs are of: a run's model, or rows without one.
type verified struct {
	epoch     int
	metric    metric.Metric
	threshold *model.Threshold // that is stored, or nil
	store     func(*model.Threshold) (path string, err error)
}

// rates prints what the samples say.
func (f *verifyFlags) rates(cmd *cobra.Command, log *logrus.Logger, of *verified, calibration, test *pairSample, across int) error {
	var err error
	v := &verification{
		Epoch: of.epoch, Distance: eval.DistanceName(of.metric), Pairs: test.name, Identities: len(test.identities),
		Same: test.roc.Positives, Different: test.roc.Negatives, All: test.AllIntra && test.AllInter, Across: across,
		VerificationFigures: test.roc.Verification(), AveragePrecision: test.roc.AveragePrecision(),
	}
	if f.curve > 0 {
		v.Curve = test.roc.Curve(f.curve)
	}
	threshold := of.threshold
	switch {
	case calibration != nil:
		if threshold, err = f.choose(calibration); err != nil {
			return err
		}
	case cmd.Flags().Changed("threshold"):
		threshold = &model.Threshold{Distance: f.threshold, Rule: "as given"}
	case threshold != nil:
		if err := eval.DisjointIdentities(threshold.Identities, test.identities); err != nil {
			log.Warnf("the rates of the stored threshold are not shown, they would be too good: %v", err)
			threshold = nil
		}
	}
	if threshold != nil {
		at := test.roc.Figures(test.roc.At(threshold.Distance))
		v.AtThreshold, v.Calibrated = &at, threshold.Brief()
	}
	if test.bySuper != nil {
		var at *float64
		if threshold != nil {
			at = &threshold.Distance
		}
		if v.SuperClasses, err = test.bySuper(at); err != nil {
			return err
		}
	}
	if err := f.plot(v.Distance, test); err != nil {
		return err
	}
	if f.store {
		if v.Stored, err = of.store(threshold); err != nil {
			return err
		}
	}
	if f.asJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), v)
	}
	return v.print(cmd.OutOrStdout())
}

// samples measures the pairs for testing and, if a threshold is to be chosen,
// those for calibration, which are of other identities.
func (f *verifyFlags) samples(cmd *cobra.Command, folder run.Folder, eng engine.Engine) (calibration, test *pairSample, across int, err error) {
	ctx := cmd.Context()
	inSet := cmd.Flags().Changed("split") || cmd.Flags().Changed("data")
	var s *pairSource
	if f.pairs != "" {
		s, err = f.fileSource(ctx, folder, eng, f.pairs, inSet)
	} else {
		s, err = f.classSource(ctx, folder, eng, f.sel)
	}
	if err != nil {
		return nil, nil, 0, err
	}
	switch {
	case f.calibrate == "":
		test, err = s.whole()
		return nil, test, 0, err
	case f.calibrateOn == calibrateOnHalf:
		return s.halves(f.share, f.seed)
	}
	c, err := f.calibrationSource(ctx, folder, eng, inSet)
	if err != nil {
		return nil, nil, 0, err
	}
	calibration, test, err = f.apart(c, s)
	return calibration, test, 0, err
}

// apart measures all pairs of two sources, which must be of different identities.
func (f *verifyFlags) apart(c, t *pairSource) (calibration, test *pairSample, err error) {
	if test, err = t.whole(); err != nil {
		return nil, nil, err
	}
	if calibration, err = c.whole(); err != nil {
		return nil, nil, err
	}
	if err := eval.DisjointIdentities(calibration.identities, test.identities); err != nil {
		return nil, nil, fmt.Errorf("--calibrate-on %s: %w", f.calibrateOn, err)
	}
	return calibration, test, nil
}

func (f *verifyFlags) calibrationSource(ctx context.Context, folder run.Folder, eng engine.Engine, inSet bool) (*pairSource, error) {
	if !slices.Contains(run.Splits(), f.calibrateOn) {
		return f.fileSource(ctx, folder, eng, f.calibrateOn, inSet)
	}
	sel := f.sel
	sel.Split = f.calibrateOn
	if f.calibrateOn == "train" || f.calibrateOn == "all" {
		sel.Events.Warn("the model was trained on classes of --calibrate-on %s, where distances are smaller than elsewhere: a threshold from them is too strict", f.calibrateOn)
	}
	return f.classSource(ctx, folder, eng, sel)
}

// choose calibrates a threshold.
func (f *verifyFlags) choose(s *pairSample) (*model.Threshold, error) {
	d, err := s.roc.Calibrate(f.rule)
	if err != nil {
		return nil, fmt.Errorf("calibrating on %s: %w", s.name, err)
	}
	return &model.Threshold{
		Distance: d.Threshold, Rule: f.rule.String(), FAR: d.FAR, FRR: d.FRR, Same: s.roc.Positives, Different: s.roc.Negatives,
		Source: s.name, Identities: s.identities,
	}, nil
}

func (f *verifyFlags) plot(distance string, test *pairSample) error {
	names, curves := []string{test.name}, []*eval.ROC{test.roc}
	if f.roc != "" {
		if err := plot.PNG(f.roc, plot.ROC{Metric: distance, Names: names, Curves: curves}); err != nil {
			return err
		}
	}
	if f.det != "" {
		return plot.PNG(f.det, plot.DET{Metric: distance, Names: names, Curves: curves})
	}
	return nil
}

func (v *verification) print(w io.Writer) error {
	sampled := "all"
	if !v.All {
		sampled = "a sample"
	}
	by := "by " + v.Distance
	if v.Epoch > 0 {
		by = fmt.Sprintf("model of epoch %d, %s", v.Epoch, by)
	}
	fmt.Fprintf(w, "%s, %s\n", v.Pairs, by)
	fmt.Fprintf(w, "%d same and %s (%s) of %s", v.Same, plural.Of(v.Different, "different pair"), sampled, plural.Of(v.Identities, "identity"))
	if v.Across > 0 {
		fmt.Fprintf(w, "; %s of a calibration and a test identity left out", plural.Of(v.Across, "pair"))
	}
	fmt.Fprintf(w, "\n\nAUC %.4f   EER %s at distance %s   average precision %.4f\n\n", v.AUC, rateText(v.EER), distanceText(v.EERThreshold), v.AveragePrecision)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "FAR at most\tTAR\tthreshold\t")
	for _, r := range v.TAR {
		fmt.Fprintf(t, "%s\t%s\t%s\t\n", rateText(r.FAR), rateText(r.TAR), distanceText(r.Threshold))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if a := v.AtThreshold; a != nil {
		c := v.Calibrated
		fmt.Fprintf(w, "\nthreshold %s, %s", distanceText(a.Threshold), c.Rule)
		if c.Source != "" {
			fmt.Fprintf(w, " on %s (FAR %s, FRR %s there)", c.Source, rateText(c.FAR), rateText(c.FRR))
		}
		fmt.Fprintf(w, "\nhere: FAR %s, FRR %s, accuracy %s, precision %s, recall %s\n", rateText(a.FAR), rateText(a.FRR), rateText(a.Accuracy), rateText(a.Precision), rateText(a.Recall))
	}
	if err := printSuper(w, v.SuperClasses); err != nil {
		return err
	}
	if v.Stored != "" {
		fmt.Fprintf(w, "stored in %s\n", v.Stored)
	}
	return nil
}
