package weaviate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/plural"
)

// reading does something with the state. It is false if there is no gallery.
func (s *Store) reading(ctx context.Context, do func(st *state) error) (there bool, err error) {
	st, err := s.state(ctx)
	if errors.Is(err, gallery.ErrNoGallery) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	return true, s.explain(ctx, do(st))
}

// Stats implements gallery.Store. Weaviate does not say how many bytes a collection takes.
func (s *Store) Stats(ctx context.Context) (stats gallery.Stats, err error) {
	stats.Index = "none yet"
	_, err = s.reading(ctx, func(st *state) error {
		shards, err := s.shards(ctx)
		if err != nil {
			return err
		}
		stats.Index = fmt.Sprintf("HNSW of Weaviate, %s, %s", s.distance, plural.Of(shards, "shard"))
		stats.Rows, err = s.count(ctx, st.settled())
		for ids := range slices.Chunk(st.Dead, batchNames) {
			if err != nil {
				break
			}
			var n int
			n, err = s.count(ctx, []where{{Path: []string{"id"}, Operator: "ContainsAny", ValueTexts: ids}})
			stats.Rows -= n
		}
		return err
	})
	return stats, err
}

// add appends a row to a table.
func (s *Store) add(t *gallery.Table, r row) error {
	if len(r.Additional.Vector) != s.info.Dim {
		return fmt.Errorf("the row of key %q has %d numbers, want %d: something else than vernier gallery has written it", r.Key, len(r.Additional.Vector), s.info.Dim)
	}
	t.X = append(t.X, r.Additional.Vector...)
	t.Keys, t.Paths, t.Classes = append(t.Keys, r.Key), append(t.Paths, r.Path), append(t.Classes, r.Class)
	t.N++
	return nil
}

// Get implements gallery.Store.
func (s *Store) Get(ctx context.Context, keys []string) (*gallery.Table, error) {
	all := s.none()
	_, err := s.reading(ctx, func(st *state) error {
		return s.named(ctx, st, gallery.Filter{Keys: keys}, allFields, func(r row) error { return s.add(all, r) })
	})
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, all.N)
	for i, key := range all.Keys {
		at[key] = i
	}
	rows := []int{}
	for _, key := range keys {
		if i, there := at[key]; there {
			rows = append(rows, i)
		}
	}
	return all.Select(rows), nil
}

// Known implements gallery.Store.
func (s *Store) Known(ctx context.Context, keys []string) (map[string]gallery.Label, error) {
	known := map[string]gallery.Label{}
	_, err := s.reading(ctx, func(st *state) error {
		return s.named(ctx, st, gallery.Filter{Keys: keys}, textFields, func(r row) error {
			known[r.Key] = gallery.Label{Path: r.Path, Class: r.Class}
			return nil
		})
	})
	return known, err
}

// KeysAt implements gallery.Store.
func (s *Store) KeysAt(ctx context.Context, paths []string) (map[string]string, error) {
	keys := map[string]string{}
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == "" })
	_, err := s.reading(ctx, func(st *state) error {
		return s.named(ctx, st, gallery.Filter{Paths: paths}, textFields, func(r row) error {
			keys[r.Path] = r.Key
			return nil
		})
	})
	return keys, err
}

// named calls do with the rows that a filter of keys or else of paths lets through.
func (s *Store) named(ctx context.Context, st *state, f gallery.Filter, fields string, do func(row) error) error {
	names, part := f.Keys, func(list []string) gallery.Filter { return gallery.Filter{Keys: list} }
	if len(f.Keys) == 0 {
		names, part = f.Paths, func(list []string) gallery.Filter { return gallery.Filter{Paths: list} }
	}
	fits := matcher(f)
	for list := range slices.Chunk(names, batchNames) {
		rows, err := s.get(ctx, append(conditions(part(list)), st.settled()...), fields)
		if err != nil {
			return err
		}
		if err := pass(st, rows, fits, do); err != nil {
			return err
		}
	}
	return nil
}

// pass calls do with the rows that count and fit.
func pass(st *state, rows []row, fits func(row) bool, do func(row) error) error {
	for _, r := range rows {
		if st.counts(r.Additional.ID, r.Push) && fits(r) {
			if err := do(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// matcher is a filter of rows. Conditions compare hashes, and this the texts.
func matcher(f gallery.Filter) func(row) bool {
	sets := [3]map[string]bool{}
	for i, list := range [][]string{f.Keys, f.Paths, f.Classes} {
		if len(list) > 0 {
			sets[i] = make(map[string]bool, len(list))
			for _, text := range list {
				sets[i][text] = true
			}
		}
	}
	return func(r row) bool {
		for i, text := range []string{r.Key, r.Path, r.Class} {
			if sets[i] != nil && !sets[i][text] {
				return false
			}
		}
		return true
	}
}

// each calls do with the rows that a filter lets through: of keys or paths those that are
// asked for, of classes those of a query if there are not too many for one, else all rows
// are read.
func (s *Store) each(ctx context.Context, st *state, f gallery.Filter, fields string, do func(row) error) error {
	if len(f.Keys)+len(f.Paths) > 0 {
		return s.named(ctx, st, f, fields, do)
	}
	if len(f.Classes) > 0 && len(f.Classes) <= batchNames {
		all := append(conditions(f), st.settled()...)
		n, err := s.count(ctx, all)
		if err != nil {
			return err
		}
		if n < maxResults/2 { // others may add some meanwhile
			rows, err := s.get(ctx, all, fields)
			if err != nil {
				return err
			}
			return pass(st, rows, matcher(f), do)
		}
	}
	return s.all(ctx, st, f, fields, do)
}

// listed is how many rows are read at a time.
const listed = 1000

// all reads all rows, in the order of their identities.
func (s *Store) all(ctx context.Context, st *state, f gallery.Filter, fields string, do func(row) error) error {
	fits := matcher(f)
	size := max(1, min(listed, 4*batchNumber/max(1, s.info.Dim)))
	query := url.Values{"class": {s.at.collection}, "limit": {fmt.Sprint(size)}, "after": {""}}
	if strings.Contains(fields, "vector") {
		query.Set("include", "vector")
	}
	for {
		var page struct {
			Objects []struct {
				ID         string
				Vector     []float32
				Properties row
			}
		}
		if err := s.call(ctx, http.MethodGet, "/v1/objects?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		rows := make([]row, len(page.Objects))
		for i, o := range page.Objects {
			rows[i] = o.Properties
			rows[i].Additional.ID, rows[i].Additional.Vector = o.ID, o.Vector
		}
		if err := pass(st, rows, fits, do); err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil
		}
		query.Set("after", rows[len(rows)-1].Additional.ID)
	}
}

// Scan implements gallery.Store.
func (s *Store) Scan(ctx context.Context, where gallery.Filter, do func(*gallery.Table) error) error {
	_, err := s.reading(ctx, func(st *state) error {
		t := s.none()
		err := s.each(ctx, st, where, allFields, func(r row) error {
			if err := s.add(t, r); err != nil || t.N < listed {
				return err
			}
			full := t
			t = s.none()
			return do(full)
		})
		if err != nil || t.N == 0 {
			return err
		}
		return do(t)
	})
	return err
}
