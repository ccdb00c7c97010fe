package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/rowfiles"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

const verifyName = "verify"

func newVerify(log *logrus.Logger) *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   verifyName + " RUN [A B]",
		Short: "Are two images of the same? And how often is the answer wrong?",
		Long: `With two images A and B: print their distance, the threshold and the decision,
same if the distance is at most the threshold. The threshold is --threshold, or the
one in the model file. Exit status: 0 same, 3 different, 1 an error, 2 a mistake in
the command line.

Without images: measure on many pairs how well distances tell same from different:
AUC, equal error rate (EER), true acceptance rate (TAR) at false acceptance rates
(FAR), and the rates at a threshold. Pairs are all those of the images of --split,
or a sample of --max-pairs of each kind; or those of --pairs FILE, a CSV file with a
header: columns a, b (paths) and same (1 or 0), and, if wanted, identity_a and
identity_b. Without these, images connected by same pairs are one identity. Paths
are relative to FILE; with --split or --data they name images of that set, whose
classes are the identities.

--calibrate RULE chooses a threshold, on other identities than those it is then
measured on, and --store keeps it in the model file. RULE is one of
  eer           where false acceptances and false rejections are equally frequent
  far=0.001     the largest threshold whose FAR is at most that
  accuracy      the best share of pairs judged rightly
  fbeta=0.5     the best F-beta of accepting
  cost:prior=0.01,accept=10,reject=1
                the smallest expected cost if 1% of pairs are the same and a false
                acceptance costs 10 times a false rejection (likelihood-ratio rule)

--calibrate-on says on which pairs: "half" of the identities (the other half is then
for measuring; --calibrate-share changes the share), the name of another split of
the run, or another file of pairs.

--super-classes, or a data set that has super-classes, adds the rates among the
identities of each: whether one threshold suits all of them.

--embeddings measures rows that another program made, without a RUN, by --metric;
their labels are the identities. --pairs then names rows by their column path, or by
their numbers from 0 on, and needs no labels. --groups leaves pairs of one identity and
group out, as of a RUN on a set whose images have groups (cameras).`,
		Example: `  vernier verify runs/birds --calibrate far=0.01 --store
  vernier verify runs/birds robin.jpg wren.jpg
  vernier verify runs/birds --pairs pairs.csv --calibrate eer --json
  vernier verify runs/birds --roc roc.png --det det.png
  vernier verify --embeddings faces.npy --labels people.txt --calibrate far=0.001
  vernier verify --embeddings lfw.npz --pairs pairs.csv --calibrate eer`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := f.rows.Check(cmd, args, "pairs", "super-classes", "json", "threshold", "calibrate", "calibrate-on", "calibrate-share", "max-pairs", "seed", "roc", "det", "curve", "workers"); err != nil || f.rows.Embeddings != "" {
				return err
			}
			if cmd.Flags().Changed("metric") {
				return cli.Usagef("--metric needs --embeddings")
			}
			if len(args) == 2 {
				return cli.Usagef("B is missing: give two images, or none to measure on many pairs")
			}
			return cli.Takes(false, []string{"RUN", "A", "B"}[:max(1, min(len(args), 3))]...)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args, log) },
	}
	f.add(cmd)
	return cmd
}

// exitDifferent is the exit code for two images that are not of the same.
const exitDifferent = 3

// verifyFlags are the flags of verify.
type verifyFlags struct {
	selectionFlags
	asJSON      bool
	threshold   float64
	pairs       string
	calibrate   string
	calibrateOn string
	share       float64
	store       bool
	maxPairs    int
	seed        uint64
	roc, det    string
	curve       int

	superClasses string
	rows         rowfiles.Flags
	rule         eval.Rule
}

func (f *verifyFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVar(&f.asJSON, "json", false, "print as JSON")
	fl.Float64Var(&f.threshold, "threshold", 0, "largest distance at which two images count as the same (default the one in the model file)")
	fl.StringVar(&f.pairs, "pairs", "", "CSV file of pairs to measure on: a,b,same")
	fl.StringVar(&f.calibrate, "calibrate", "", "choose a threshold: "+eval.RuleForms)
	fl.StringVar(&f.calibrateOn, "calibrate-on", "half", "identities to calibrate on: half, another split, or another file of pairs")
	fl.Float64Var(&f.share, "calibrate-share", 0.5, "share of the identities that --calibrate-on half takes")
	fl.BoolVar(&f.store, "store", false, "keep the calibrated threshold in the model file")
	fl.IntVar(&f.maxPairs, "max-pairs", 200_000, "pairs of each kind at most; where there are more, they are drawn")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of everything that is drawn")
	fl.StringVar(&f.roc, "roc", "", "draw the ROC curve as this PNG file")
	fl.StringVar(&f.det, "det", "", "draw the detection error trade-off as this PNG file")
	fl.IntVar(&f.curve, "curve", 200, "about how many points of the ROC curve --json has; 0 for none")
	fl.StringVar(&f.superClasses, "super-classes", "", "CSV `FILE` with the lines class,super: rates among the identities of each super-class")
	f.rows.Add(fl)
	rowfiles.AddMetric(fl)
	f.selectionFlags.add(cmd)
}

// measuring are the flags that make no sense with two images.
var measuring = []string{"pairs", "super-classes", "calibrate", "calibrate-on", "calibrate-share", "store", "max-pairs", "seed", "roc", "det", "curve", "split", "data", "max-bad"}

func (f *verifyFlags) complete(cmd *cobra.Command, images bool, log *logrus.Logger) error {
	changed := cmd.Flags().Changed
	if images {
		for _, name := range measuring {
			if changed(name) {
				return cli.Usagef("--%s cannot be given with two images", name)
			}
		}
	}
	if f.calibrate == "" {
		for _, name := range []string{"calibrate-on", "calibrate-share", "store"} {
			if changed(name) {
				return cli.Usagef("--%s needs --calibrate", name)
			}
		}
	} else {
		var err error
		if f.rule, err = eval.ParseRule(f.calibrate); err != nil {
			return fmt.Errorf("--calibrate: %w", err)
		}
		if changed("threshold") {
			return cli.Usagef("--threshold and --calibrate: give one of them")
		}
	}
	if changed("calibrate-share") && f.calibrateOn != calibrateOnHalf {
		return cli.Usagef("--calibrate-share is for --calibrate-on half")
	}
	if f.superClasses != "" && f.pairs != "" {
		return cli.Usagef("--super-classes and --pairs: give one of them, pairs of a file are not taken apart")
	}
	f.selectionFlags.complete(cmd, log)
	if f.superClasses == "" || f.rows.Embeddings != "" {
		return nil
	}
	var err error
	if f.sel.SuperClasses, err = data.ReadSuperClasses(f.superClasses); err != nil {
		return cli.Usagef("--super-classes: %w", err)
	}
	return nil
}

// checkThreshold refuses one that lies before all distances of the run's metric.
func (f *verifyFlags) checkThreshold(folder run.Folder) error {
	if f.threshold >= 0 {
		return nil
	}
	cfg, err := folder.LoadConfig()
	if err == nil && cfg.Model.Metric.Kind != metric.Dot {
		err = cli.Usagef("--threshold %v: want at least 0, as distances by %s are", f.threshold, eval.DistanceName(cfg.Model.Metric))
	}
	return err
}

func (f *verifyFlags) run(cmd *cobra.Command, args []string, log *logrus.Logger) error {
	if err := f.complete(cmd, len(args) == 3, log); err != nil {
		return err
	}
	if f.rows.Embeddings != "" {
		return f.measureRows(cmd, log)
	}
	folder, eng, err := f.device.OpenRun(args[0], f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	if err := f.checkThreshold(folder); err != nil {
		return err
	}
	if len(args) == 1 {
		return f.measure(cmd, folder, eng, log)
	}
	m, epoch, err := folder.LoadModel(eng, f.sel.Choice)
	if err != nil {
		return err
	}
	var given *float64
	if cmd.Flags().Changed("threshold") {
		given = &f.threshold
	}
	v, err := newVerdict(m, epoch, given)
	if err != nil {
		return fmt.Errorf("%s: %w", folder.ModelPath(f.sel.Choice), err)
	}
	cfg, err := folder.LoadConfig()
	if err != nil {
		return err
	}
	rows, err := embedFiles(cmd.Context(), cfg, m, args[1:], 0, f.sel.Options)
	if err != nil {
		return err
	}
	v.A, v.B = args[1], args[2]
	if v.Distance, err = eval.Distance(m.Spec.Metric, rows.Row(0), rows.Row(1)); err != nil {
		return err
	}
	v.Same = v.Distance <= v.Threshold
	if f.asJSON {
		err = cli.WriteJSON(cmd.OutOrStdout(), v)
	} else {
		err = v.print(cmd.OutOrStdout())
	}
	if err == nil && !v.Same {
		err = &cli.ExitError{Code: exitDifferent}
	}
	return err
}

// verdict is what verify says of two images.
type verdict struct {
	A          string           `json:"a"`
	B          string           `json:"b"`
	Distance   float64          `json:"distance"`
	By         string           `json:"by"` // what the distance is
	Threshold  float64          `json:"threshold"`
	Same       bool             `json:"same"`
	Epoch      int              `json:"epoch"`
	Calibrated *model.Threshold `json:"calibrated,omitempty"` // how, unless the threshold was given
}

func newVerdict(m *model.Model, epoch int, given *float64) (*verdict, error) {
	v := &verdict{By: eval.DistanceName(m.Spec.Metric), Epoch: epoch}
	switch {
	case given != nil:
		v.Threshold = *given
	case m.Threshold != nil:
		v.Threshold, v.Calibrated = m.Threshold.Distance, m.Threshold.Brief()
	default:
		return nil, fmt.Errorf("this model has no threshold yet: calibrate one with --calibrate RULE --store and no images, or give --threshold")
	}
	return v, nil
}

func (v *verdict) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "distance\t%s\tby %s\n", distanceText(v.Distance), v.By)
	origin := "as given"
	if c := v.Calibrated; c != nil {
		origin = fmt.Sprintf("%s on %s (FAR %s, FRR %s)", c.Rule, c.Source, rateText(c.FAR), rateText(c.FRR))
	}
	fmt.Fprintf(t, "threshold\t%s\t%s\n", distanceText(v.Threshold), origin)
	decision := "different"
	if v.Same {
		decision = "same"
	}
	fmt.Fprintf(t, "decision\t%s\t\n", decision)
	return t.Flush()
}

func distanceText(d float64) string { return strconv.FormatFloat(d, 'g', 5, 64) }

// rateText writes a rate in percent, a small one with the digits that it needs.
func rateText(r float64) string {
	if r > 0 && r < 0.001 {
		return strconv.FormatFloat(100*r, 'g', 2, 64) + "%"
	}
	return strconv.FormatFloat(100*r, 'f', 2, 64) + "%"
}
