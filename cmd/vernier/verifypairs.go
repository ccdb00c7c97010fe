package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/table"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// calibrateOnHalf is the value of --calibrate-on that divides the identities.
const calibrateOnHalf = "half"

// pairSource holds images of known identity, of which pairs are made: those of
// a list, or all.
type pairSource struct {
	rows     *eval.Embeddings
	identity []string // of each row
	groups   []int    // of each row, or nil: pairs of one identity and group are left out
	super    []string // super-class of each row, or nil
	list     *eval.PairList
	name     string
	metric   metric.Metric
	opt      eval.PairOptions
}

// pairSample are measured pairs.
type pairSample struct {
	*eval.PairDistances
	roc        *eval.ROC
	identities []string
	name       string
	// bySuper measures the same identities by super-class; nil where there are none.
	bySuper func(threshold *float64) ([]superRates, error)
}

// whole measures all pairs.
func (s *pairSource) whole() (*pairSample, error) {
	if s.list != nil {
		return s.measure(s.list.Pairs, s.name)
	}
	return s.sample(eval.LeaveOneOut(s.rows.N), s.name)
}

// halves measures pairs for calibration and for testing, of different
// identities. across are those of one of each, which are left out.
func (s *pairSource) halves(share float64, seed uint64) (calibration, test *pairSample, across int, err error) {
	names := [2]string{
		fmt.Sprintf("%s of the identities of %s", rateText(share), s.name),
		"the other identities of " + s.name,
	}
	if share == 0.5 {
		names[0] = "half of the identities of " + s.name
	}
	if s.list != nil {
		c, t, across, err := s.list.Split(share, seed)
		if err != nil {
			return nil, nil, 0, err
		}
		if calibration, err = s.measure(c, names[0]); err != nil {
			return nil, nil, 0, err
		}
		test, err = s.measure(t, names[1])
		return calibration, test, across, err
	}
	c, t, err := eval.SplitIdentities(s.identity, share, seed)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("%s: %w", s.name, err)
	}
	if calibration, err = s.sample(c, names[0]); err != nil {
		return nil, nil, 0, err
	}
	test, err = s.sample(t, names[1])
	if err != nil {
		return nil, nil, 0, err
	}
	// Both sides have two identities at least, whatever the share.
	n, all := len(calibration.identities), len(calibration.identities)+len(test.identities)
	if math.Abs(float64(n)-share*float64(all)) >= 1 {
		calibration.name = fmt.Sprintf("%d of the %d identities of %s", n, all, s.name)
	}
	return calibration, test, 0, err
}

// measure takes pairs of the list.
func (s *pairSource) measure(pairs []eval.Pair, name string) (*pairSample, error) {
	d, err := eval.MeasurePairs(s.rows, s.metric, pairs, s.opt.Workers)
	if err != nil {
		return nil, err
	}
	return newPairSample(d, s.list.Identities(pairs), name)
}

// sample takes pairs of the given rows.
func (s *pairSource) sample(rows []int, name string) (*pairSample, error) {
	d, ids, err := s.distances(rows)
	if err != nil {
		return nil, err
	}
	p, err := newPairSample(d, ids, name)
	if err == nil && s.super != nil {
		p.bySuper = func(threshold *float64) ([]superRates, error) { return s.bySuper(rows, threshold) }
	}
	return p, err
}

func newPairSample(d *eval.PairDistances, identities []string, name string) (*pairSample, error) {
	roc, err := d.ROC()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &pairSample{PairDistances: d, roc: roc, identities: identities, name: name}, nil
}

// classSource takes the images of a split or set; their classes are their
// identities.
func (f *verifyFlags) classSource(ctx context.Context, folder run.Folder, eng engine.Engine, sel run.Selection) (*pairSource, error) {
	e, err := run.Embed(ctx, folder, eng, sel)
	if err != nil {
		return nil, err
	}
	if _, err := e.Seen(ctx, sel); err != nil {
		e.Close()
		return nil, err
	}
	both, rows, groups := e.Sides().Both()
	s := f.source(e.Model, both)
	s.name, s.groups = e.Set.Name, groups
	super := e.Set.SuperClass()
	for _, i := range rows {
		label := e.Set.Items[i].Label
		s.identity = append(s.identity, e.Set.Classes[label])
		if super != nil {
			s.super = append(s.super, super(label))
		}
	}
	return s, e.Close()
}

func (f *verifyFlags) source(m *model.Model, rows *eval.Embeddings) *pairSource {
	return &pairSource{rows: rows, metric: m.Spec.Metric, opt: eval.PairOptions{Max: f.maxPairs, Seed: f.seed, Workers: f.sel.Workers}}
}

// fileSource takes the pairs of a file. Their paths are those of files, or of
// images in the set that sel names.
func (f *verifyFlags) fileSource(ctx context.Context, folder run.Folder, eng engine.Engine, path string, inSet bool) (*pairSource, error) {
	list, err := readPairs(path)
	if err != nil {
		return nil, err
	}
	s, err := f.embedPairs(ctx, folder, eng, list, filepath.Dir(path), inSet)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.list, s.identity, s.name = list, list.Identity, path
	return s, nil
}

func readPairs(path string) (*eval.PairList, error) {
	text, err := table.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list, err := eval.ReadPairs(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

func (f *verifyFlags) embedPairs(ctx context.Context, folder run.Folder, eng engine.Engine, list *eval.PairList, dir string, inSet bool) (*pairSource, error) {
	if !inSet {
		m, _, err := folder.LoadModel(eng, f.sel.Choice)
		if err != nil {
			return nil, err
		}
		paths := slices.Clone(list.Paths)
		in := func(p string) string {
			if p = home.Expand(filepath.FromSlash(p)); filepath.IsAbs(p) {
				return p
			}
			return filepath.Join(dir, p)
		}
		for i, p := range paths {
			paths[i] = in(table.Path(p, func(p string) bool {
				_, err := os.Stat(in(p))
				return err == nil
			}))
		}
		cfg, err := folder.LoadConfig()
		if err != nil {
			return nil, err
		}
		rows, err := embedFiles(ctx, cfg, m, paths, max(cfg.Data.MaxBad, f.sel.MaxBad), f.sel.Options)
		if err != nil {
			return nil, err
		}
		keep := make([]bool, len(paths))
		for _, i := range rows.Items {
			keep[i] = true
		}
		return f.source(m, rows.Embeddings), f.keepPairs(list, keep)
	}
	e, err := run.Embed(ctx, folder, eng, f.sel)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	row := make(map[string]int, len(e.Set.Items))
	for i, it := range e.Set.Items {
		row[it.Path] = i
	}
	keep := make([]bool, len(list.Paths))
	for _, p := range e.LeftOut {
		row[p] = -1
	}
	at := func(p string) (int, bool) {
		i, ok := row[table.Path(p, func(p string) bool { _, ok := row[p]; return ok })]
		return i, ok
	}
	for i, p := range list.Paths {
		row, ok := at(p)
		if !ok {
			return nil, fmt.Errorf("there is no image %s in %s", p, e.Set.Name)
		}
		keep[i] = row >= 0
	}
	if err := f.keepPairs(list, keep); err != nil {
		return nil, err
	}
	rows := make([]int, len(list.Paths))
	classes := make([]string, len(list.Paths))
	for i, p := range list.Paths {
		rows[i], _ = at(p)
		classes[i] = e.Set.Classes[e.Set.Items[rows[i]].Label]
	}
	if !list.Stated {
		if err := list.Identify(classes); err != nil {
			return nil, err
		}
	}
	return f.source(e.Model, e.Embeddings.Select(rows)), nil
}

// keepPairs leaves out the pairs of images that could not be read.
func (f *verifyFlags) keepPairs(list *eval.PairList, keep []bool) error {
	if !slices.Contains(keep, false) {
		return nil
	}
	dropped, err := list.Keep(keep)
	f.sel.Events.Warn("left out %s of unreadable images", plural.Of(dropped, "pair"))
	return err
}

// embedFiles embeds image files, one row for each that can be read.
func embedFiles(ctx context.Context, cfg run.Config, m *model.Model, paths []string, maxBad int, opt run.Options) (*run.Rows, error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is no image file", p)
		}
	}
	set, err := openInputs(ctx, m, paths, cfg, opt.Events)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	if m.Width() > 0 && len(set.Items) != len(paths) {
		return nil, fmt.Errorf("%d files hold %d rows of features: a pair is of two files of one row each", len(paths), len(set.Items))
	}
	if len(set.Items) != len(paths) {
		return nil, fmt.Errorf("%d image files hold %d images: archives have no place here", len(paths), len(set.Items))
	}
	return run.EmbedImages(ctx, m, set, maxBad, opt)
}

// measureRows measures pairs of rows that another program made.
func (f *verifyFlags) measureRows(cmd *cobra.Command, log *logrus.Logger) error {
	onHalf := f.calibrateOn == calibrateOnHalf
	if f.pairs == "" && !onHalf {
		return cli.Usagef("--calibrate-on %s needs --pairs with --embeddings: both are files of pairs", f.calibrateOn)
	}
	f.rows.Unlabeled, f.rows.SuperClasses = f.pairs != "", f.superClasses
	sets, err := f.rows.Open(cmd.Flags().Lookup("metric"), log.Warnf)
	if err != nil {
		return err
	}
	r := sets[0]
	if f.threshold < 0 && r.Metric.Kind != metric.Dot {
		return cli.Usagef("--threshold %v: want at least 0, as distances by %s are", f.threshold, eval.DistanceName(r.Metric))
	}
	all := pairSource{name: r.Name, metric: r.Metric, opt: eval.PairOptions{Max: f.maxPairs, Seed: f.seed, Workers: f.sel.Workers}}
	all.rows, _, all.groups = r.Both()
	for _, label := range all.rows.Labels {
		all.identity = append(all.identity, r.Classes[label])
		if r.Super != nil {
			all.super = append(all.super, r.Super(label))
		}
	}
	s := &all
	if f.pairs != "" {
		if s, err = all.ofPairs(f.pairs, r); err != nil {
			return err
		}
	}
	var calibration, test *pairSample
	across := 0
	switch {
	case f.calibrate == "":
		test, err = s.whole()
	case onHalf:
		calibration, test, across, err = s.halves(f.share, f.seed)
	default:
		var c *pairSource
		if c, err = all.ofPairs(f.calibrateOn, r); err != nil {
			return err
		}
		calibration, test, err = f.apart(c, s)
	}
	if err != nil {
		return err
	}
	return f.rates(cmd, log, &verified{metric: r.Metric}, calibration, test, across)
}

// ofPairs takes the pairs of a file. They name rows by their paths, or by their numbers
// from 0 on.
func (s *pairSource) ofPairs(path string, r *run.RowSet) (*pairSource, error) {
	list, err := readPairs(path)
	if err != nil {
		return nil, err
	}
	row := make(map[string]int, s.rows.N)
	for i := range s.rows.N {
		name := r.Path(i)
		if _, ok := row[name]; ok {
			row[name] = -1
			continue
		}
		row[name] = i
	}
	rows, identity := make([]int, len(list.Paths)), make([]string, len(list.Paths))
	for i, p := range list.Paths {
		at, ok := row[table.Path(p, func(p string) bool { _, ok := row[p]; return ok })]
		if n, err := strconv.Atoi(p); !ok && err == nil && n >= 0 && n < s.rows.N {
			at, ok = n, true
		}
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: there is no row %s in %s: name rows by its column path, or by their numbers, 0 to %d", path, p, r.Name, s.rows.N-1)
		case at < 0:
			return nil, fmt.Errorf("%s: %s names several rows of %s: name rows by their numbers, 0 to %d", path, p, r.Name, s.rows.N-1)
		}
		rows[i] = at
		if s.identity != nil {
			identity[i] = s.identity[at]
		}
	}
	if !list.Stated && s.identity != nil {
		if err := list.Identify(identity); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return &pairSource{rows: s.rows.Select(rows), identity: list.Identity, list: list, name: path, metric: s.metric, opt: s.opt}, nil
}
