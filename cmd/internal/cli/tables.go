package cli

import (
	"errors"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/linear"
)

// TableFlags say how a table is read and encoded for linear learners.
type TableFlags struct {
	Read       linear.ReadOptions   // complete after Complete
	Encode     linear.EncodeOptions // complete after Complete
	Components int                  // principal components that rows are projected to; 0 for no projection
	Threads    int                  // on the CPU; 0 for all cores
	Seed       uint64

	header, decimal, missing string
}

// Add adds all of the flags to a command.
func (f *TableFlags) Add(cmd *cobra.Command) {
	f.AddRead(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.missing, "missing", "refuse", "what becomes of missing values: refuse, mean or median of the training rows")
	fl.BoolVar(&f.Encode.Raw, "raw", false, "take the columns as they are instead of standardizing them")
	fl.IntVar(&f.Components, "components", 0, "first project rows to this number of principal components of the training rows")
	fl.Uint64Var(&f.Seed, "seed", 0, "seed of everything that is drawn")
}

// AddRead adds the flags for reading a table, and --threads, without those for learning
// from it.
func (f *TableFlags) AddRead(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.Read.Label, "label", "", "name of the label column (default: label, class or target, else the last, if it holds words or whole numbers that come back)")
	fl.StringVar(&f.header, "header", "auto", "does the first line name the columns: auto, yes or no")
	fl.StringVar(&f.decimal, "decimal", "auto", "decimal mark of numbers: auto (the one the table has), point or comma")
	fl.StringSliceVar(&f.Read.Categorical, "categorical", nil, "columns whose numbers are codes, separated by commas")
	fl.StringSliceVar(&f.Read.Drop, "drop", nil, "columns to leave out, separated by commas")
	fl.IntVar(&f.Threads, "threads", 0, CPUThreadsHelp)
}

// Complete fills in Read and Encode once the flags are parsed.
func (f *TableFlags) Complete() {
	f.Read.Header = map[string]linear.Header{"auto": linear.Auto, "yes": linear.WithHeader, "no": linear.NoHeader}[f.header]
	f.Read.Decimal = map[string]rune{"point": '.', "comma": ','}[f.decimal]
	f.Encode.Missing = linear.Missing(f.missing)
}

// Table reads a table and says how it was understood. toLearn warns of columns that
// are probably no features.
func (f *TableFlags) Table(log *logrus.Logger, path string, toLearn bool) (*linear.Table, error) {
	t, err := linear.ReadTableFile(path, f.Read)
	if err != nil {
		return nil, err
	}
	for _, n := range t.Notes {
		log.Infof("%s: %s", path, n)
	}
	if toLearn {
		for _, s := range t.Suspects() {
			log.Warnf("%s: %s (--drop, --categorical)", path, s)
		}
	}
	return t, nil
}

// WarnConstant warns of columns that have the same value in every row.
func WarnConstant(log *logrus.Logger, columns []string) {
	if len(columns) > 0 {
		shown := columns
		if len(shown) > 10 {
			shown = append(append([]string{}, shown[:10]...), "...")
		}
		log.Warnf("%s: %s", plural.Of(len(columns), "constant column"), strings.Join(shown, ", "))
	}
}

// TableHint names the flags of TableFlags that help with a table that cannot be read; "" for
// other errors.
func TableHint(err error) string {
	switch {
	case errors.Is(err, linear.ErrCell):
		return " (--drop, --categorical)"
	case errors.Is(err, linear.ErrRange):
		return " (leave out --raw)"
	case errors.Is(err, linear.ErrDecimal):
		return " with --decimal comma or --decimal point"
	}
	return ""
}
