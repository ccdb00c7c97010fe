package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/sums"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

func newExport(log *logrus.Logger) *cobra.Command {
	f := &exportFlags{}
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write the network, and embeddings with labels and paths, for other tools",
		Long: `Write what a run has learned in formats that other tools read. By format:

  safetensors  model.safetensors (the network, its specification in the metadata)
               and embeddings.safetensors (embeddings (N, h) float32, labels (N) int64;
               paths and classes as JSON in the metadata)
  npy          embeddings.npy, labels.npy and paths.npy, rows in the same order
  npz          network.npz (the network's parameters) and embeddings.npz
               (embeddings, labels, paths and classes)
  csv          embeddings.csv: path, class, label, e0, e1, ...
  parquet      embeddings.parquet: path, class, label, embedding (a list of float32)
  onnx         network.onnx, from "images" (batch, 3, size, size) to "embeddings"
               (batch, h), opset 17; needs no images, and is written when asked for

Beside the rows metric.json says how they are to be compared, and classes.csv
which class a label means. vernier search reads these files again. Rows are the images of --split.

SHA256SUMS has a checksum of each file, for sha256sum -c; safetensors, npz and parquet
have one of their contents too. vernier search and vernier index compare them, and
refuse a file that differs. A file without a checksum is taken as it is.

network.onnx takes float32 pictures that are normalized already; with
--onnx-preprocess it takes RGB values 0..255 as uint8, with
--onnx-preprocess=float as float32, and normalizes them itself. Resizing and
cropping stay outside. Its metadata say which it is (vernier.input), give size,
resizing and normalization (vernier.preprocessing, JSON), and the metric.

--onnx-metric adds metric.onnx, from embeddings "a" (n, h) and "b" (m, h) to the
metric's values (n, m), "distances" or "similarities". Distances are computed
row of a by row of a, so no array of n x m x h numbers is ever made. In Python:

  net = onnxruntime.InferenceSession("network.onnx")
  metric = onnxruntime.InferenceSession("metric.onnx")
  e = net.run(None, {"images": pictures})[0]
  d = metric.run(None, {"a": e, "b": e})[0]

--expand EPS brings the boundary-restricted metric into any vector database:
expansion.npy has rows whose plain squared Euclidean distance is D^p within EPS
over the range of the data, and expansion.json the frequencies and weights by which
new rows are expanded. Sigmoid, tanh and isru have it for p = 2 (0.02 takes about 5
numbers a coordinate, 0.001 about 9 of sigmoid and 17 of the others), all
restrictions for p = 1, which needs more. expansion.parquet has the same rows with paths,
classes and labels. Rows that are exported later are comparable with the first ones only by
the same expansion: --expansion FILE, and for queries vernier embed --expand FILE. In Python:

  index = faiss.IndexFlatL2(x.shape[1])     # x = numpy.load("expansion.npy")
  index.add(x)
  d_to_the_p, neighbors = index.search(x, 10)`,
		Example: `  vernier export runs/glyphs
  vernier export runs/glyphs --format csv --split all --out glyphs-embedded
  vernier export runs/glyphs --format npy --expand 0.01
  vernier export runs/glyphs --format onnx --onnx-preprocess --onnx-metric --out glyphs-onnx`,
		Args: cli.Takes(false, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, log, args[0]) },
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.out, "out", "", "folder to write to (default RUN/export); must be empty or not exist")
	fl.StringSliceVar(&f.formats, "format", run.ExportFormats(), "formats, separated by commas: "+strings.Join(exportFormats(), ", "))
	fl.BoolVar(&f.force, "force", false, "replace files of the same names in --out")
	fl.StringVar(&f.pixels, "onnx-preprocess", "", "let network.onnx take RGB values 0..255: uint8 or float")
	fl.Lookup("onnx-preprocess").NoOptDefVal = string(model.ONNXUint8)
	fl.BoolVar(&f.onnx.Metric, "onnx-metric", false, "write metric.onnx too")
	fl.Float64Var(&f.expand, "expand", 0, "write expansion.npy too: squared Euclidean distance is D^p of BRM within this error")
	fl.StringVar(&f.expansion, "expansion", "", "expand by this expansion.json of an earlier export, so that the rows are comparable with its")
	fl.BoolVar(&f.asJSON, "json", false, "print what was written as JSON")
	return cmd
}

// exportFlags are those of export.
type exportFlags struct {
	selectionFlags
	out     string
	formats []string
	force   bool
	pixels  string
	onnx    run.ONNXOptions
	expand  float64
	// expansion is the file of an expansion that is there.
	expansion string
	asJSON    bool

	report exportReport
	done   []string // what is to be said when the files are in their place
}

func (f *exportFlags) tell(format string, args ...any) {
	f.done = append(f.done, fmt.Sprintf(format, args...))
}

// exportReport is what export --json prints.
type exportReport struct {
	Out   string   `json:"out"`
	Files []string `json:"files"`
	Epoch int      `json:"epoch"`
	Rows  int      `json:"rows,omitempty"`
	Dim   int      `json:"dim,omitempty"`
	// Expansion describes the rows of --expand.
	Expansion *expansionReport `json:"expansion,omitempty"`
}

type expansionReport struct {
	Dim         int     `json:"dim"`
	Frequencies int     `json:"frequencies"`
	Bound       float64 `json:"bound"` // of the error of D^p
	Range       float64 `json:"range"` // of differences of coordinates
}

func exportFormats() []string { return append(slices.Clone(run.ExportFormats()), run.ONNXFormat) }

func (f *exportFlags) complete(cmd *cobra.Command, log *logrus.Logger) error {
	f.onnx.Input = model.ONNXPreprocessed
	if cmd.Flags().Changed("onnx-preprocess") {
		f.onnx.Input = model.ONNXInput(f.pixels)
	}
	if !slices.Contains(f.formats, run.ONNXFormat) {
		for _, name := range []string{"onnx-preprocess", "onnx-metric"} {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("--%s needs --format onnx", name)
			}
		}
	}
	if (f.expand != 0 || f.expansion != "") && slices.Equal(f.formats, []string{run.ONNXFormat}) {
		return cli.Usagef("--expand needs rows: add --format npy, for example")
	}
	f.selectionFlags.complete(cmd, log)
	return nil
}

func (f *exportFlags) run(cmd *cobra.Command, log *logrus.Logger, path string) error {
	if err := f.complete(cmd, log); err != nil {
		return err
	}
	folder, eng, err := f.device.OpenRun(path, f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	if err := f.checkExpansion(folder); err != nil {
		return err
	}
	if f.out == "" {
		f.out = filepath.Join(path, "export")
	}
	if err := emptyFolder(f.out, f.force); err != nil {
		return err
	}
	// What is there stays until everything new is: files that belong to different
	// models would be taken for one export.
	staged, err := wholefile.NewFolder(f.out, exportStage)
	if err != nil {
		return err
	}
	defer staged.Remove()
	stage := staged.Path
	if err := keepSums(f.out, stage); err != nil {
		return err
	}
	rows := slices.DeleteFunc(slices.Clone(f.formats), func(name string) bool { return name == run.ONNXFormat })
	if len(rows) > 0 {
		if err := f.exportRows(cmd.Context(), folder, eng, rows, stage); err != nil {
			return err
		}
	}
	if len(rows) < len(f.formats) {
		if err := f.exportONNX(folder, eng, stage); err != nil {
			return err
		}
	}
	if !slices.Contains(f.report.Files, sums.FolderFile) {
		f.report.Files = append(f.report.Files, sums.FolderFile)
	}
	if err := checkMixture(stage, f.out); err != nil {
		return err
	}
	if err := moveFiles(stage, f.out); err != nil {
		return err
	}
	for _, line := range f.done {
		log.Info(line)
	}
	if !f.asJSON {
		return nil
	}
	f.report.Out = f.out
	return cli.WriteJSON(cmd.OutOrStdout(), f.report)
}

// expansionOf is the expansion of the rows, nil for none: a new one, or that of another
// export.
func (f *exportFlags) expansionOf(emb *run.Embedded) (x *eval.Expansion, err error) {
	switch {
	case f.expansion != "":
		x, err = readExpansion(f.expansion, emb.Embeddings, f.sel.Events)
	case f.expand != 0:
		if x, err = eval.Expand(emb.Model.Spec.Metric, emb.Embeddings, f.expand); err != nil {
			err = fmt.Errorf("--expand %v: %w", f.expand, err)
		}
	}
	if x == nil || err != nil {
		return nil, err
	}
	f.sel.Events.Say("expansion: %d numbers a row, %s in all", x.Dim, humanize.IBytes(4*uint64(x.Dim)*uint64(emb.Embeddings.N)))
	switch {
	case x.Dim > 4000:
		f.sel.Events.Warn("rows of %d numbers: pgvector makes no index beyond 4,000; search the embeddings themselves and compare the nearest 200 by the metric, as vernier gallery does", x.Dim)
	case x.Dim > 2000:
		f.sel.Events.Warn("rows of %d numbers: pgvector makes an index beyond 2,000 in half precision (halfvec) alone", x.Dim)
	}
	return x, nil
}

// readExpansion reads expansion.json of an export, and warns of rows that it was not made
// for.
func readExpansion(path string, rows *eval.Embeddings, events run.Events) (*eval.Expansion, error) {
	text, err := wholefile.Read(path)
	if err != nil {
		return nil, err
	}
	x, err := eval.ParseExpansion(text)
	if err == nil && x.H != rows.H {
		err = fmt.Errorf("the expansion is of %d coordinates, the rows have %d", x.H, rows.H)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if n := x.Outside(rows); n > 0 {
		events.Warn("%s of %d lie outside of the range of %s: their distances may be off by more than %.2g", plural.Of(n, "row"), rows.N, path, x.Bound)
	}
	return x, nil
}

// checkExpansion says before images are embedded whether the metric can have one.
func (f *exportFlags) checkExpansion(folder run.Folder) error {
	if f.expand == 0 {
		return nil
	}
	if f.expansion != "" {
		return cli.Usagef("--expand makes an expansion, --expansion takes one: give one of them")
	}
	cfg, err := folder.LoadConfig()
	if err != nil {
		return err
	}
	if err := eval.Expandable(cfg.Model.Metric, f.expand); err != nil {
		return cli.Usagef("--expand %v: %w", f.expand, err)
	}
	return nil
}

// exportONNX writes what needs no images.
func (f *exportFlags) exportONNX(folder run.Folder, eng engine.Engine, dir string) error {
	m, epoch, err := folder.LoadModel(eng, f.sel.Choice)
	if err != nil {
		return err
	}
	files, err := run.ExportONNX(dir, m, epoch, f.onnx)
	if err != nil {
		return err
	}
	f.report.Epoch, f.report.Files = epoch, append(f.report.Files, files...)
	averaged, err := folder.IsAveraged(f.sel.Choice)
	if err != nil {
		return err
	}
	f.tell("the model of epoch %d%s: wrote %s to %s", epoch, averagedText(averaged), strings.Join(files, ", "), f.out)
	return nil
}

// exportRows writes what needs the images.
func (f *exportFlags) exportRows(ctx context.Context, folder run.Folder, eng engine.Engine, formats []string, dir string) error {
	emb, err := run.Embed(ctx, folder, eng, f.sel)
	if err != nil {
		return err
	}
	defer emb.Close()
	// Before the other files, since not every metric and not every error can be had.
	x, err := f.expansionOf(emb)
	if err != nil {
		return err
	}
	var expanded []string
	if x != nil {
		if expanded, err = emb.ExportExpansion(dir, x); err != nil {
			return err
		}
	}
	files, err := emb.Export(dir, formats)
	if err != nil {
		return err
	}
	f.report.Epoch, f.report.Rows, f.report.Dim, f.report.Files = emb.Epoch, emb.Embeddings.N, emb.Embeddings.H, files
	f.tell("%s of %s from the model of epoch %d%s: wrote %s to %s", plural.Of(emb.Embeddings.N, "row"), plural.Of(emb.Embeddings.H, "number"), emb.Epoch, averagedText(emb.Averaged), strings.Join(files, ", "), f.out)
	if x == nil {
		return nil
	}
	f.report.Files = append(f.report.Files, expanded...)
	f.report.Expansion = &expansionReport{x.Dim, len(x.Frequency), x.Bound, x.Range}
	f.tell("expansion: %s, rows of %s whose squared Euclidean distance is D^%d of %s within %.2g, for coordinates at most %.3g apart: wrote %s",
		plural.Of(len(x.Frequency), "frequency"), plural.Of(x.Dim, "number"), emb.Model.Spec.Metric.P, x.Metric, x.Bound, x.Range, strings.Join(expanded, ", "))
	return nil
}

// averagedText says that a model has averaged weights.
func averagedText(averaged bool) string {
	if averaged {
		return " with averaged weights"
	}
	return ""
}

// moveFiles moves the files of a folder into another, in place of those of the same
// names, or none of them.
func moveFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(to, e.Name())); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file and cannot be replaced", filepath.Join(to, e.Name()))
		}
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// exportStage is what the folder is called in which an export is made.
const exportStage = "export"

// emptyFolder makes a folder, or accepts one that is empty or forced. What a killed
// export left in it goes.
func emptyFolder(path string, force bool) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	wholefile.Sweep(path, exportStage)
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return wholefile.IsTemporary(e.Name(), exportStage) }) {
		return fmt.Errorf("another vernier is exporting into folder %s", path)
	}
	if len(entries) > 0 && !force {
		return fmt.Errorf("folder %s is not empty (--force replaces files of the same names)", path)
	}
	return nil
}
