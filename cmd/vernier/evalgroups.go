package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
)

// groupFlags ask eval for figures of classes and super-classes.
type groupFlags struct {
	perClass, superClasses string
}

const (
	// perClassTable is --per-class without a file.
	perClassTable = "table"
	// superRows is how many super-classes the table shows.
	superRows = 40
	groupHelp = `--per-class prints recall@1, precision@1, R-precision, MAP@R and the number of
queries of every class, and adds them to --json as "per_class";
--per-class=FILE.csv writes them to a file. Where the data set has super-classes
(SOP, or the column category of a csv: set), or --super-classes names a CSV file
whose first line is "class,super", their figures are printed with their mean, in
which each weighs the same; a right answer is still one of the query's own class.

--center says what the center of a cluster is in the k-means of NMI and F1: mean
(the default, whatever the metric, as published figures have it), or metric, for a
model with BRM the point of smallest summed D^p to the cluster's images instead,
as k-medoids would, and robust as BRM is. For any other metric both are the mean.
`
)

func (f *groupFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.perClass, "per-class", "", "figures of every class, as a table, or =FILE.csv")
	fl.Lookup("per-class").NoOptDefVal = perClassTable
	fl.StringVar(&f.superClasses, "super-classes", "", "CSV `FILE` with the lines class,super: figures of super-classes and their mean")
}

// checkArgs finds a file that was meant for --per-class.
func (f *groupFlags) checkArgs(args []string) error {
	if f.perClass != perClassTable {
		return nil
	}
	if i := slices.IndexFunc(args, func(a string) bool { return filepath.Ext(a) == ".csv" }); i >= 0 {
		return cli.Usagef("%q is no RUN; to write the figures of classes there, give --per-class=%s, with an equals sign", args[i], args[i])
	}
	return nil
}

func (f *groupFlags) complete(opt *run.MeasureOptions, sel *run.Selection) (err error) {
	opt.PerClass = f.perClass != ""
	if opt.PerClass && f.perClass != perClassTable {
		if filepath.Ext(f.perClass) != ".csv" {
			return cli.Usagef("--per-class=%s: want the name of a .csv file, or nothing for a table", f.perClass)
		}
		if info, err := os.Stat(filepath.Dir(f.perClass)); err != nil || !info.IsDir() {
			return cli.Usagef("--per-class=%s: there is no folder %s", f.perClass, filepath.Dir(f.perClass))
		}
	}
	if f.superClasses != "" {
		if sel.SuperClasses, err = data.ReadSuperClasses(f.superClasses); err != nil {
			return cli.Usagef("--super-classes: %w", err)
		}
	}
	return nil
}

// write stores the figures of classes in the file that was asked for.
func (f *groupFlags) write(r *run.Results, log *logrus.Logger) error {
	if f.perClass == "" || f.perClass == perClassTable {
		return nil
	}
	err := wholefile.Write(f.perClass, func(w io.Writer) error { return writeGroups(w, r.Model.PerClass) })
	if err == nil {
		log.Infof("figures of %s: %s", plural.Of(len(r.Model.PerClass), "class"), f.perClass)
	}
	return err
}

// writeGroups writes CSV; averages of classes whose every query is lone are empty.
func writeGroups(w io.Writer, groups []eval.GroupFigures) error {
	c := csv.NewWriter(w)
	c.Write([]string{"class", "queries", "lone_queries", "recall@1", "precision@1", "r_precision", "map@r", "map", "mrr"})
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, g := range groups {
		row := []string{g.Name, strconv.Itoa(g.Queries), strconv.Itoa(g.LoneQueries), number(g.RecallAt1), "", "", "", "", ""}
		if a := g.AverageFigures; a != nil {
			row = append(row[:4], number(a.PrecisionAt1), number(a.RPrecision), number(a.MAPAtR), number(a.MAP), number(a.MRR))
		}
		c.Write(row)
	}
	c.Flush()
	return c.Error()
}

// print shows what there is beside the table of all queries, of the model.
func (f *groupFlags) print(w io.Writer, m *eval.Figures) error {
	if f.perClass == perClassTable {
		t := groupTable(w, "class", "")
		for _, g := range m.PerClass {
			printGroup(t, g.Name, "", g.Queries, g.RecallAt1, g.AverageFigures)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	s := m.SuperClasses
	if s == nil {
		return nil
	}
	t := groupTable(w, "super-class", "classes\t")
	for _, g := range s.Groups[:min(len(s.Groups), superRows)] {
		printGroup(t, g.Name, strconv.Itoa(g.Classes)+"\t", g.Queries, g.RecallAt1, g.AverageFigures)
	}
	printGroup(t, fmt.Sprintf("mean of %d", len(s.Groups)), strconv.Itoa(m.Classes)+"\t", m.Queries, s.RecallAt1, &s.Mean)
	if err := t.Flush(); err != nil {
		return err
	}
	if more := len(s.Groups) - superRows; more > 0 {
		fmt.Fprintf(w, "%s more in --json\n", plural.Of(more, "super-class"))
	}
	return nil
}

func groupTable(w io.Writer, first, second string) *tabwriter.Writer {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\t%squeries\tR@1\tP@1\tR-precision\tMAP@R\t\n", first, second)
	return t
}

// printGroup adds a row in percent.
func printGroup(t io.Writer, name, classes string, queries int, recall float64, a *eval.AverageFigures) {
	fmt.Fprintf(t, "%s\t%s%d\t%.1f\t", strings.ReplaceAll(name, "\t", " "), classes, queries, recall)
	if a == nil {
		fmt.Fprintln(t, "-\t-\t-\t")
		return
	}
	fmt.Fprintf(t, "%.1f\t%.1f\t%.1f\t\n", 100*a.PrecisionAt1, 100*a.RPrecision, 100*a.MAPAtR)
}
