package main

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/galleries"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// galleryImages embeds images for vernier gallery.
type galleryImages struct {
	log     *logrus.Logger
	chosen  selectionFlags // of push
	from    string
	queries modelFlags // of search
	pushes  bool
}

func newGalleryImages(log *logrus.Logger) func() galleries.Images {
	return func() galleries.Images { return &galleryImages{log: log} }
}

func (g *galleryImages) AddPush(cmd *cobra.Command) {
	g.pushes = true
	cmd.Flags().StringVar(&g.from, "from", "", "take rows from this file of embeddings instead of images")
	addCrops(cmd.Flags(), &g.chosen.sel.Crops)
	g.chosen.add(cmd)
}

func (g *galleryImages) AddSearch(cmd *cobra.Command) { g.queries.addAlone(cmd.Flags()) }

func (g *galleryImages) Check(cmd *cobra.Command, images []string) error {
	return oneSource(cmd, images, g.from)
}

func (g *galleryImages) Open(cmd *cobra.Command, path string) (galleries.Model, error) {
	device, threads := &g.queries.device, g.queries.threads
	if g.pushes {
		g.chosen.complete(cmd, g.log)
		g.queries = g.chosen.images()
		device, threads = &g.chosen.device, g.chosen.threads
	}
	g.queries.opt.Events = newReporter(g.log)
	folder, eng, err := device.OpenRun(path, threads, g.log)
	if err != nil {
		return nil, err
	}
	m := &galleryModel{galleryImages: g, folder: folder, eng: eng}
	if m.model, _, err = folder.LoadModel(eng, run.Choice(g.queries.epoch)); err == nil {
		m.cfg, err = folder.LoadConfig()
	}
	if err == nil {
		err = m.model.SetCrops(g.queries.crops)
	}
	if err == nil {
		m.info, err = runInfo(folder, eng, run.Choice(g.queries.epoch), g.queries.crops)
	}
	if err != nil {
		eng.Close()
		return nil, err
	}
	return m, nil
}

// galleryModel is a run's model.
type galleryModel struct {
	*galleryImages
	folder run.Folder
	cfg    run.Config
	eng    cli.Engine
	model  *model.Model
	info   gallery.Info
}

func (m *galleryModel) Info() gallery.Info  { return m.info }
func (m *galleryModel) Engine() eval.Engine { return m.eng }
func (m *galleryModel) Close() error        { return m.eng.Close() }

func (m *galleryModel) Threshold() *float64 {
	if m.model.Threshold == nil {
		return nil
	}
	return &m.model.Threshold.Distance
}

func (m *galleryModel) Queries(ctx context.Context, images []string) (*gallery.Table, error) {
	return m.queries.embedBy(ctx, m.model, m.cfg, images)
}

func (m *galleryModel) Rows(ctx context.Context, images []string, wanted func(*gallery.Table) ([]int, error)) (*gallery.Table, error) {
	if m.from != "" { // whose numbers may have changed, and which cost nothing
		return rowsFrom(m.from, m.info, m.chosen.sel.Events)
	}
	choose := func(set *data.Set) ([]int, error) { return wanted(keyed(set, len(images) == 0)) }
	if len(images) == 0 {
		sel := m.chosen.sel
		sel.Choose = choose
		return embedSplit(ctx, m.folder, m.eng, sel, true)
	}
	set, err := openInputs(ctx, m.model, images, m.cfg, m.queries.opt.Events)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	for _, n := range set.Remarks() {
		m.queries.opt.Events.Warn("%s", n)
	}
	items, err := choose(set)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &gallery.Table{Embeddings: &eval.Embeddings{H: m.info.Dim}}, nil
	}
	t, err := m.queries.embedSet(ctx, m.model, m.cfg, set.Select(set.Name, items))
	if err != nil {
		return nil, err
	}
	at := newPlaces()
	for i, path := range t.Paths {
		t.Paths[i] = at.of(path)
	}
	return t, nil
}

// keyed is what is known of the images of a set, without their numbers. One that cannot be
// read has a key of its own, so that reading it says why.
func keyed(set *data.Set, classes bool) *gallery.Table {
	t := &gallery.Table{Embeddings: &eval.Embeddings{N: len(set.Items)}}
	at := newPlaces()
	for i, it := range set.Items {
		key, err := set.Key(i)
		if err != nil {
			key = fmt.Sprintf("unreadable %d", i)
		}
		t.Keys = append(t.Keys, key)
		if classes {
			t.Paths, t.Classes = append(t.Paths, at.ofItem(set, i)), append(t.Classes, set.Classes[it.Label])
		} else {
			t.Paths = append(t.Paths, at.of(it.Path))
		}
	}
	return t
}
