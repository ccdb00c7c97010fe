package gallery_test

import (
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/storetest"
)

func TestAFileIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Open {
		path := filepath.Join(t.TempDir(), "g.index")
		return func(info gallery.Info) (gallery.Store, error) { return gallery.OpenFile(path, info, nil) }
	})
}

func TestShardsAreAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Open {
		dir := t.TempDir()
		return func(info gallery.Info) (gallery.Store, error) {
			var stores []gallery.Store
			for _, name := range []string{"a.index", "b.index", "c.index"} {
				s, err := gallery.OpenFile(filepath.Join(dir, name), info, nil)
				if err != nil {
					return nil, err
				}
				stores = append(stores, s)
			}
			return gallery.Shards(stores...)
		}
	})
}

// Rows stay what they are when a store is added: those of before are found, and move when
// they are given again.
func TestAStoreMoreAmongShards(t *testing.T) {
	dir := t.TempDir()
	open := func(names ...string) gallery.Store {
		var stores []gallery.Store
		for _, name := range names {
			s, err := gallery.OpenFile(filepath.Join(dir, name), storetest.Info, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			stores = append(stores, s)
		}
		s, err := gallery.Shards(stores...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	rows := storetest.Rows("a", 200, 1)
	two := open("a", "b")
	if _, err := two.Upsert(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	three := open("c", "a", "b")
	for range 2 {
		found, err := gallery.Search(t.Context(), three, rows.Embeddings, storetest.Info, 1, gallery.SearchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, near := range found {
			if len(near) != 1 || near[0].Key != rows.Keys[i] {
				t.Fatalf("row %d: %+v", i, near)
			}
		}
		if _, err := three.Upsert(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if stats, err := three.Stats(t.Context()); err != nil || stats.Rows != 200 {
			t.Errorf("%+v, %v", stats, err)
		}
	}
	if stats, err := open("c").Stats(t.Context()); err != nil || stats.Rows < 40 || stats.Rows > 90 {
		t.Errorf("the new store has %+v (%v), want a third of 200", stats, err)
	}
}
