package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/cmd/internal/galleries"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/serve"
)

// servedGallery is what serve searches.
type servedGallery struct {
	store gallery.Store
	place string // for whoever starts the service
	name  string // of what it holds, for those who search
	close func() error
}

// Close ends the use of the store, and then of the engine that searches it.
func (g *servedGallery) Close() error { return errors.Join(g.store.Close(), g.close()) }

// openGallery opens the gallery that is to be served. An index that is not there is made first.
func (f *serveFlags) openGallery(ctx context.Context, folder run.Folder, eng engine.Engine, log *logrus.Logger) (*servedGallery, error) {
	info, err := runInfo(folder, eng, f.sel.Choice, f.sel.Crops)
	if err != nil {
		return nil, err
	}
	// Searches have an engine of their own: that of the model is busy with embedding.
	searching, err := cpu.New(cpu.Options{Threads: f.threads})
	if err != nil {
		return nil, err
	}
	g := &servedGallery{close: searching.Close}
	if len(f.gallery) > 1 || len(f.gallery) == 1 && galleries.IsAddress(f.gallery[0]) {
		g.place, g.name = strings.Join(f.gallery, ", "), galleries.Title(f.gallery)
		g.store, err = galleries.Open(ctx, f.gallery, info, galleries.Options{Engine: searching})
	} else {
		g.store, err = f.openIndex(ctx, g, folder, eng, info, searching, log)
	}
	if err != nil {
		return nil, errors.Join(err, searching.Close())
	}
	return g, nil
}

// openIndex opens the index of --gallery or else the one in RUN.
func (f *serveFlags) openIndex(ctx context.Context, g *servedGallery, folder run.Folder, eng engine.Engine, info gallery.Info, searching engine.Engine, log *logrus.Logger) (gallery.Store, error) {
	own := len(f.gallery) == 0
	if own {
		g.place = folder.Path(f.ownIndex())
		if g.name = nametext.WithoutFolders(f.sel.Data); g.name == "" {
			g.name = "the run, split " + f.sel.Split
		}
	} else {
		g.place, g.name = f.gallery[0], galleries.Title(f.gallery)
	}
	path := g.place
	store, err := gallery.OpenFile(path, info, searching)
	switch _, missing := os.Stat(path); {
	case errors.Is(missing, fs.ErrNotExist), own && f.renew, own && errors.Is(err, gallery.ErrOtherModel):
		if err == nil {
			err = store.Close()
		}
		if err == nil || own {
			store, err = f.makeIndex(ctx, folder, eng, path, info, searching)
		}
	case err == nil && own:
		log.Infof("%s: made at an earlier start; --renew makes it anew", path)
	}
	if err != nil {
		return nil, err
	}
	return store, nil
}

// ownIndex is the name of the index in RUN of the images that the flags choose.
func (f *serveFlags) ownIndex() string {
	if f.sel.Data == "" {
		return "gallery-" + f.sel.Split + ".index"
	}
	sum := sha256.Sum256([]byte(f.sel.Data + "\n" + f.sel.Split))
	return "gallery-" + hex.EncodeToString(sum[:6]) + ".index"
}

// makeIndex embeds images and makes an index of them.
func (f *serveFlags) makeIndex(ctx context.Context, folder run.Folder, eng engine.Engine, path string, info gallery.Info, searching engine.Engine) (*gallery.File, error) {
	t, err := embedSplit(ctx, folder, eng, f.sel, true)
	if err == nil {
		t, _, err = gallery.Distinct(t)
	}
	if err == nil {
		err = gallery.Create(path, info, t)
	}
	if err != nil {
		return nil, err
	}
	return gallery.OpenFile(path, info, searching)
}

// shown finds the images of a gallery by their paths: files of this machine, and images of the
// data set that the flags choose, which is opened when it is asked for the first time.
type shown struct {
	decoder *pixels.Decoder
	open    func() (*shownSet, error)
	opened  *shownSet
}

// shownSet is a data set and the places of its images.
type shownSet struct {
	whole, part *data.Set
	at          map[string]int
}

func newShown(cfg run.Config, sel run.Selection) *shown {
	s := &shown{decoder: pixels.NewDecoder(pixels.Options{MaxPixels: cfg.Data.MaxPixels})}
	s.open = sync.OnceValues(func() (*shownSet, error) {
		whole, part, err := sel.Open(context.Background(), cfg)
		if err != nil {
			return nil, err
		}
		set := &shownSet{whole, part, make(map[string]int, len(part.Items))}
		at := newPlaces()
		for i := range part.Items {
			set.at[at.of(part.Where(i))] = i
		}
		s.opened = set
		return set, nil
	})
	return s
}

// picture returns the image of a path. It is called for one path at a time.
func (s *shown) picture(ctx context.Context, path string) (image.Image, error) {
	if file := nametext.Decode(path); filepath.IsAbs(file) {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return data.DecodeFile(ctx, s.decoder, file)
		}
	}
	set, err := s.open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", serve.ErrNoPicture, err)
	}
	if i, ok := set.at[path]; ok {
		return set.part.Load(ctx, i)
	}
	return nil, serve.ErrNoPicture
}

func (s *shown) close() error {
	if s.opened == nil {
		return nil
	}
	return s.opened.whole.Close()
}
