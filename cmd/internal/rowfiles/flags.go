// Package rowfiles reads files of embeddings that other programs made, as the flags of
// several commands name them.
package rowfiles

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
)

// Flags name files of embeddings, and what belongs to them.
type Flags struct {
	Embeddings             string
	Labels                 string
	Groups                 string
	Gallery, GalleryLabels string
	GalleryGroups          string
	Junk                   string
	SuperClasses           string // FILE with the lines class,super
	// Unlabeled allows files without labels: then Classes of their sets is nil.
	Unlabeled bool
	several   bool // may be compared
}

// Add adds --embeddings, --labels, --groups and --junk.
func (f *Flags) Add(fl *pflag.FlagSet) {
	fl.StringVar(&f.Embeddings, "embeddings", "", "`FILE` of embeddings that another program made, in place of a RUN: .npy, .npz, .safetensors, .pt, .parquet, .csv; FILE:NAME chooses one of several arrays")
	fl.StringVar(&f.Labels, "labels", "", "`FILE` with a label for each row of --embeddings: .npy, .npz, .parquet, .csv, or .txt with one a line; FILE:NAME chooses a column (default the labels in --embeddings)")
	fl.StringVar(&f.Groups, "groups", "", "`FILE` or column with a group for each row of --embeddings: rows of one class and group are not compared")
	fl.StringVar(&f.Junk, "junk", "", "`LABEL` of rows of --embeddings, and of --gallery, that are left out, such as -1")
}

// AddSeveral is Add for a command that compares several files, and may search a gallery.
func (f *Flags) AddSeveral(fl *pflag.FlagSet) {
	f.Add(fl)
	f.several = true
	fl.Lookup("embeddings").Usage += "; several files, separated by commas, are compared"
	fl.StringVar(&f.Gallery, "gallery", "", "`FILE` of the rows in which those of --embeddings are looked for (default those of --embeddings); of several --embeddings, one for each")
	fl.StringVar(&f.GalleryLabels, "gallery-labels", "", "`FILE` with a label for each row of --gallery (default the labels in it)")
	fl.StringVar(&f.GalleryGroups, "gallery-groups", "", "`FILE` or column with a group for each row of --gallery")
}

// AddMetric adds --metric, for commands that have no other flag of that name.
func AddMetric(fl *pflag.FlagSet) {
	fl.String("metric", "cosine", "how rows of --embeddings are compared (default what the file states, else cosine)")
	fl.Lookup("metric").DefValue = ""
}

// own are the flags that need --embeddings.
var own = []string{"labels", "groups", "junk", "gallery", "gallery-labels", "gallery-groups"}

// Check finds flags that do not go together; with are those that --embeddings goes with,
// beside the package's own.
func (f *Flags) Check(cmd *cobra.Command, args []string, with ...string) error {
	for _, name := range append([]string{"embeddings"}, own...) {
		if fl := cmd.Flags().Lookup(name); fl != nil && fl.Changed && fl.Value.String() == "" {
			return cli.Usagef("--%s is empty: want a name", name)
		}
	}
	if f.Embeddings == "" {
		for _, name := range own {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("--%s needs --embeddings", name)
			}
		}
		return nil
	}
	if len(args) > 0 {
		return cli.Usagef("%q and --embeddings: give a RUN or embeddings, not both", args[0])
	}
	with = append(slices.Concat(own, with), "embeddings", "metric")
	var wrong error
	cmd.Flags().VisitAll(func(fl *pflag.Flag) {
		if fl.Changed && wrong == nil && !slices.Contains(with, fl.Name) && cmd.InheritedFlags().Lookup(fl.Name) == nil {
			wrong = cli.Usagef("--%s cannot be given with --embeddings", fl.Name)
		}
	})
	if wrong != nil {
		return wrong
	}
	names, galleries := list(f.Embeddings), list(f.Gallery)
	switch {
	case slices.Contains(names, "") || slices.Contains(galleries, ""):
		return cli.Usagef("--embeddings %q, --gallery %q: the name of a file is empty", f.Embeddings, f.Gallery)
	case !f.several && len(names) > 1:
		return cli.Usagef("--embeddings names %d files, want one", len(names))
	case f.Gallery == "" && (f.GalleryLabels != "" || f.GalleryGroups != ""):
		return cli.Usagef("--gallery-labels and --gallery-groups need --gallery")
	case f.Gallery != "" && (f.Groups == "") != (f.GalleryGroups == ""):
		return cli.Usagef("--groups and --gallery-groups: with --gallery both or none")
	case f.Gallery != "" && len(galleries) != len(names):
		return cli.Usagef("--gallery names %s, --embeddings %d: name one gallery for each file of embeddings", plural.Of(len(galleries), "file"), len(names))
	}
	return nil
}
