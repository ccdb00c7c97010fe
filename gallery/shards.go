package gallery

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// Shards makes one store of several, of one metric and model: a row is in one of them, by
// its key. All are searched at a time, and what they find is merged by the metric itself,
// so that the answer is that of one store, and no worse where they are not exact. Rows that
// are in another one than their key says, such as those of before a store was added, are
// found too, and move when they are given again. Upsert is whole in each store and not over
// all; after one that failed, the same one again makes good.
func Shards(stores ...Store) (Store, error) {
	if len(stores) == 0 {
		return nil, errors.New("no stores")
	}
	for _, s := range stores[1:] {
		if err := s.Info().Same(stores[0].Info()); err != nil {
			return nil, err
		}
	}
	if len(stores) == 1 {
		return stores[0], nil
	}
	m, err := metric.Parse(stores[0].Info().Metric)
	if err != nil {
		return nil, err
	}
	return &shards{stores, m}, nil
}

type shards struct {
	stores []Store
	metric metric.Metric
}

// of is the store that a key belongs to.
func (s *shards) of(key string) int {
	h := fnv.New64a()
	h.Write([]byte(key))
	return int(h.Sum64() % uint64(len(s.stores)))
}

// each does something with all stores at a time. The error names the first that failed.
func (s *shards) each(do func(i int, store Store) error) error {
	errs := make(chan error, len(s.stores))
	for i, store := range s.stores {
		go func() { errs <- do(i, store) }()
	}
	var all []error
	for range s.stores {
		if err := <-errs; err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func (s *shards) Info() Info { return s.stores[0].Info() }

func (s *shards) Exact() bool {
	for _, store := range s.stores {
		if !store.Exact() {
			return false
		}
	}
	return true
}

func (s *shards) Close() error {
	return s.each(func(_ int, store Store) error { return store.Close() })
}

func (s *shards) Stats(ctx context.Context) (all Stats, err error) {
	stats := make([]Stats, len(s.stores))
	err = s.each(func(i int, store Store) (err error) { stats[i], err = store.Stats(ctx); return err })
	index := make([]string, len(stats))
	for i, one := range stats {
		all.Rows, all.Removed, all.Bytes, index[i] = all.Rows+one.Rows, all.Removed+one.Removed, all.Bytes+one.Bytes, one.Index
	}
	all.Index = fmt.Sprintf("%d stores: %s", len(stats), strings.Join(index, "; "))
	return all, err
}

func (s *shards) Upsert(ctx context.Context, rows *Table) (did Changes, err error) {
	if rows.N == 0 {
		return did, nil
	}
	if err := fit(s.Info(), rows); err != nil {
		return did, err
	}
	t, repeated, err := Distinct(rows)
	if err != nil {
		return did, err
	}
	there, err := s.fill(ctx, t)
	if err != nil {
		return did, err
	}
	parts := make([][]int, len(s.stores))
	for i, key := range t.Keys {
		at := s.of(key)
		parts[at] = append(parts[at], i)
	}
	changes := make([]Changes, len(s.stores))
	err = s.each(func(i int, store Store) (err error) {
		if len(parts[i]) > 0 {
			changes[i], err = store.Upsert(ctx, t.Select(parts[i]))
		}
		return err
	})
	if err == nil {
		err = s.sweep(ctx, t)
	}
	if err != nil {
		return Changes{}, err
	}
	did.Repeated = repeated
	for i, one := range changes {
		did.Unchanged += one.Unchanged
		did.Replaced += one.Replaced
		did.Added += one.Added
		for _, row := range parts[i] { // what was replaced in another store is new in this one
			if there[row] >= 0 && there[row] != i {
				did.Added--
				did.Replaced++
			}
		}
	}
	return did, nil
}

// fill gives rows without a path or class those that a store knows. there says in
// which store each row is found by its key, or else by its path; -1 for none.
func (s *shards) fill(ctx context.Context, t *Table) (there []int, err error) {
	known, at := make([]map[string]Label, len(s.stores)), make([]map[string]string, len(s.stores))
	paths := make([]string, 0, t.N)
	given := make(map[string]bool, t.N)
	for i := range t.N {
		if path := t.Path(i); path != "" {
			paths = append(paths, path)
			given[path] = true
		}
	}
	err = s.each(func(i int, store Store) (err error) {
		if at[i], err = store.KeysAt(ctx, paths); err != nil {
			return err
		}
		keys := t.Keys
		for _, key := range at[i] {
			keys = append(keys[:len(keys):len(keys)], key)
		}
		known[i], err = store.Known(ctx, keys)
		return err
	})
	if err != nil {
		return nil, err
	}
	there = make([]int, t.N)
	full := *t
	full.Paths, full.Classes = make([]string, t.N), make([]string, t.N)
	for i, key := range t.Keys {
		there[i] = -1
		path, class := t.Path(i), t.Class(i)
		byPath := -1
		for n := range s.stores {
			label, ok := known[n][key]
			if ok && (there[i] < 0 || n == s.of(key)) {
				there[i] = n
			}
			if ok && path == "" && !given[label.Path] {
				path = label.Path
			}
			if ok && class == "" {
				class = label.Class
			}
			if _, ok := at[n][t.Path(i)]; ok {
				byPath = n
			}
		}
		if byPath >= 0 {
			if class == "" {
				class = known[byPath][at[byPath][t.Path(i)]].Class
			}
			if there[i] < 0 {
				there[i] = byPath
			}
		}
		full.Paths[i], full.Classes[i] = path, class
	}
	*t = full
	return there, nil
}

// sweep removes what rows have replaced in other stores than their own.
func (s *shards) sweep(ctx context.Context, t *Table) error {
	return s.each(func(n int, store Store) error {
		var keys, paths []string
		for i, key := range t.Keys {
			if s.of(key) == n {
				continue
			}
			keys = append(keys, key)
			if path := t.Path(i); path != "" {
				paths = append(paths, path)
			}
		}
		for _, where := range []Filter{{Keys: keys}, {Paths: paths}} {
			if where.Empty() {
				continue
			}
			if _, err := store.Remove(ctx, where); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *shards) Remove(ctx context.Context, where Filter) (int, error) {
	removed := make([]int, len(s.stores))
	err := s.each(func(i int, store Store) (err error) { removed[i], err = store.Remove(ctx, where); return err })
	sum := 0
	for _, n := range removed {
		sum += n
	}
	return sum, err
}

func (s *shards) Get(ctx context.Context, keys []string) (*Table, error) {
	parts := make([]*Table, len(s.stores))
	err := s.each(func(i int, store Store) (err error) { parts[i], err = store.Get(ctx, keys); return err })
	if err != nil {
		return nil, err
	}
	all := s.join(parts)
	at := make(map[string]int, all.N)
	for i, key := range all.Keys {
		at[key] = i
	}
	var rows []int
	for _, key := range keys {
		if row, ok := at[key]; ok {
			rows = append(rows, row)
		}
	}
	return all.Select(rows), nil
}

// join is the rows of all parts, without keys that came already.
func (s *shards) join(parts []*Table) *Table {
	info := s.Info()
	all := &Table{Embeddings: &eval.Embeddings{H: info.Dim}, Keys: []string{}, Paths: []string{}, Classes: []string{}, Metric: info.Metric, Model: info.Model}
	seen := map[string]bool{}
	for _, part := range parts {
		for i := range part.N {
			if seen[part.Keys[i]] {
				continue
			}
			seen[part.Keys[i]] = true
			all.N++
			all.X = append(all.X, part.Row(i)...)
			all.Keys, all.Paths, all.Classes = append(all.Keys, part.Keys[i]), append(all.Paths, part.Path(i)), append(all.Classes, part.Class(i))
		}
	}
	return all
}

func (s *shards) Known(ctx context.Context, keys []string) (map[string]Label, error) {
	parts := make([]map[string]Label, len(s.stores))
	err := s.each(func(i int, store Store) (err error) { parts[i], err = store.Known(ctx, keys); return err })
	return merged(parts), err
}

func (s *shards) KeysAt(ctx context.Context, paths []string) (map[string]string, error) {
	parts := make([]map[string]string, len(s.stores))
	err := s.each(func(i int, store Store) (err error) { parts[i], err = store.KeysAt(ctx, paths); return err })
	return merged(parts), err
}

func merged[V any](parts []map[string]V) map[string]V {
	all := map[string]V{}
	for _, part := range parts {
		for key, v := range part {
			all[key] = v
		}
	}
	return all
}

func (s *shards) Candidates(ctx context.Context, queries *eval.Embeddings, n int, where Filter) ([]*Table, error) {
	parts := make([][]*Table, len(s.stores))
	err := s.each(func(i int, store Store) (err error) {
		parts[i], err = store.Candidates(ctx, queries, n, where)
		return err
	})
	if err != nil {
		return nil, err
	}
	lists := make([]*Table, queries.N)
	for q := range lists {
		of := make([]*Table, len(parts))
		for i, part := range parts {
			of[i] = part[q]
		}
		all := s.join(of)
		near, err := rank(s.metric, queries.Row(q), all, n)
		if err != nil {
			return nil, err
		}
		at := make(map[string]int, all.N)
		for i, key := range all.Keys {
			at[key] = i
		}
		rows := make([]int, len(near))
		for i, m := range near {
			rows[i] = at[m.Key]
		}
		lists[q] = all.Select(rows)
	}
	return lists, nil
}

func (s *shards) Scan(ctx context.Context, where Filter, do func(*Table) error) error {
	for _, store := range s.stores {
		if err := store.Scan(ctx, where, do); err != nil {
			return err
		}
	}
	return nil
}
