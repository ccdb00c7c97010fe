package tabular

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/sums"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/linear"
)

func newTransform(log *logrus.Logger) *cobra.Command {
	f := &cli.TableFlags{}
	var out string
	cmd := &cobra.Command{
		Use:   "transform MODEL TABLE --out FILE",
		Short: "Map the rows of a table so that distance between them is the learned one",
		Long: `Write the rows of a table after the learned linear map as CSV: columns z1, z2, ...
and the label where there is one. Compare them with the metric that is printed.`,
		Example: "  vernier linear transform vehicle.json new.csv --out mapped.csv",
		Args:    cli.Takes(false, "MODEL", "TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Complete()
			if out == "" {
				return cli.Usagef("--out is missing: where to write the rows")
			}
			for _, in := range args {
				if sameFile(in, out) {
					return cli.Usagef("--out %s: that is what the rows are made of; it would be lost", out)
				}
			}
			m, err := readModel(args[0])
			if err != nil {
				return err
			}
			t, err := f.Table(log, args[1], false)
			if err != nil {
				return err
			}
			x, err := m.Encoder.Encode(t, everyRow(t.Rows()))
			if err != nil {
				return fmt.Errorf("%s: %w", args[1], err)
			}
			z, err := m.Result().Transform(x)
			if err != nil {
				return fmt.Errorf("%s: %w", args[1], err)
			}
			if err := sums.Sign(out, func() ([]string, error) {
				return []string{filepath.Base(out)}, wholefile.Write(out, func(w io.Writer) error { return writeTransformed(w, z, t) })
			}); err != nil {
				return err
			}
			log.Infof("wrote %s to %s; compare them with the metric %s", plural.Of(t.Rows(), "row"), out, m.Metric)
			return nil
		},
	}
	f.AddRead(cmd)
	cmd.Flags().BoolVar(&f.Read.NoLabel, "no-label", false, "the table has no label column")
	cmd.Flags().StringVar(&out, "out", "", "CSV file to write")
	return cmd
}

// sameFile reports whether two paths lead to one file that is there.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// writeTransformed writes rows as CSV: z1, z2, ... and the label of those that have one.
func writeTransformed(w io.Writer, z *mat.Dense, t *linear.Table) error {
	_, h := z.Dims()
	c := csv.NewWriter(w)
	row := make([]string, h)
	for j := range row {
		row[j] = "z" + strconv.Itoa(j+1)
	}
	if t.Labels != nil {
		row = append(row, "label")
	}
	if err := c.Write(row); err != nil {
		return err
	}
	for i := range t.Rows() {
		for j, v := range z.RawRowView(i) {
			row[j] = strconv.FormatFloat(v, 'g', -1, 64)
		}
		if t.Labels != nil {
			row[h] = ""
			if y := t.Labels[i]; y != linear.Unknown {
				row[h] = t.Classes[y]
			}
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}
