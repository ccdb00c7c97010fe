package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
)

func replaceTable(sql, table string) string { return strings.ReplaceAll(sql, "GALLERY", table) }

// Stats implements gallery.Store.
func (s *Store) Stats(ctx context.Context) (stats gallery.Stats, err error) {
	stats.Index = "none yet: every row is compared"
	_, err = s.within(ctx, func(tx pgx.Tx) error {
		var size int64
		var indexed bool
		err := tx.QueryRow(ctx, fmt.Sprintf("select (select count(*) from %s), pg_total_relation_size(to_regclass($1)), to_regclass($2) is not null", s.table()), s.table(), s.indexName()).Scan(&stats.Rows, &size, &indexed)
		stats.Bytes = size
		if indexed {
			_, kind := s.indexed()
			stats.Index = fmt.Sprintf("HNSW of pgvector, %s_%s", kind, s.kind.class)
		}
		return err
	})
	return stats, err
}

// Get implements gallery.Store.
func (s *Store) Get(ctx context.Context, keys []string) (*gallery.Table, error) {
	t := s.none()
	_, err := s.within(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, replaceTable("select g.key, path, class, embedding from unnest($1::text[]) with ordinality as asked (key, place) join GALLERY g on g.key = asked.key order by place", s.table()), keys)
		if err != nil {
			return err
		}
		return each(rows, func() error { return take(t, rows) })
	})
	return t, err
}

// each reads all rows of a result.
func each(rows pgx.Rows, do func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := do(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Known implements gallery.Store.
func (s *Store) Known(ctx context.Context, keys []string) (map[string]gallery.Label, error) {
	known := map[string]gallery.Label{}
	err := s.texts(ctx, "key", keys, func(key, path, class string) { known[key] = gallery.Label{Path: path, Class: class} })
	return known, err
}

// KeysAt implements gallery.Store.
func (s *Store) KeysAt(ctx context.Context, paths []string) (map[string]string, error) {
	keys := map[string]string{}
	err := s.texts(ctx, "path", paths, func(key, path, _ string) {
		if path != "" {
			keys[path] = key
		}
	})
	return keys, err
}

// texts reads what is known of the rows whose column has one of the given values.
func (s *Store) texts(ctx context.Context, column string, values []string, do func(key, path, class string)) error {
	_, err := s.within(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, fmt.Sprintf("select key, path, class from %s where %s = any($1)", s.table(), column), values)
		if err != nil {
			return err
		}
		var key, path, class string
		_, err = pgx.ForEachRow(rows, []any{&key, &path, &class}, func() error {
			do(key, path, class)
			return nil
		})
		return err
	})
	return err
}

// scanRows is how many rows Scan hands over at a time.
const scanRows = 4096

// Scan implements gallery.Store.
func (s *Store) Scan(ctx context.Context, where gallery.Filter, do func(*gallery.Table) error) error {
	_, err := s.within(ctx, func(tx pgx.Tx) error {
		text, args := condition(where, nil)
		rows, err := tx.Query(ctx, "select "+columns+" from "+s.table()+" where "+text, args...)
		if err != nil {
			return err
		}
		t := s.none()
		err = each(rows, func() error {
			if err := take(t, rows); err != nil || t.N < scanRows {
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

// Candidates implements gallery.Store. A filter loses no rows: the index is asked for more
// as long as it has any, and where that ends early, all rows are compared.
func (s *Store) Candidates(ctx context.Context, queries *eval.Embeddings, n int, where gallery.Filter) ([]*gallery.Table, error) {
	if queries.H != s.info.Dim {
		return nil, fmt.Errorf("queries of %d numbers, the gallery has rows of %d", queries.H, s.info.Dim)
	}
	if n < 1 {
		return nil, fmt.Errorf("%d candidates asked for, want at least 1", n)
	}
	lists := make([]*gallery.Table, queries.N)
	for q := range lists {
		lists[q] = s.none()
	}
	_, err := s.within(ctx, func(tx pgx.Tx) error {
		all := make([]int, queries.N)
		for q := range all {
			all[q] = q
		}
		if err := s.nearest(ctx, tx, queries, all, lists, n, where); err != nil {
			return err
		}
		return s.complete(ctx, tx, queries, lists, n, where)
	})
	if err != nil {
		return nil, err
	}
	return lists, nil
}

// Bounds of hnsw.ef_search, the rows that a search of the index keeps in view: the most
// that pgvector takes, and what is asked of it however few candidates are wanted. Of 60,000
// rows in dense clusters, of whose queries 400 left one with 2 of its 10 neighbors, 800 left
// none with fewer than 9; it takes 6 ms of a processor instead of 3.5.
const (
	minEffort = 800
	maxEffort = 1000
)

// nearest fills the lists of some queries.
func (s *Store) nearest(ctx context.Context, tx pgx.Tx, queries *eval.Embeddings, which []int, lists []*gallery.Table, n int, where gallery.Filter) error {
	text, args := condition(where, []any{nil})
	expression, kind := s.indexed()
	value := "$1"
	switch kind {
	case "halfvec":
		value = fmt.Sprintf("$1::halfvec(%d)", s.info.Dim)
	case "":
		expression = "embedding"
	}
	sql := fmt.Sprintf("select %s from %s where %s order by %s %s %s limit %d", columns, s.table(), text, expression, s.kind.operator, value, n)
	batch := &pgx.Batch{}
	batch.Queue("select set_config('hnsw.ef_search', $1, true), set_config('hnsw.iterative_scan', 'strict_order', true)", fmt.Sprint(min(max(2*n, minEffort), maxEffort)))
	for _, q := range which {
		args[0] = pgvector.NewVector(queries.Row(q))
		lists[q] = s.none()
		batch.Queue(sql, append([]any(nil), args...)...).Query(func(rows pgx.Rows) error {
			return each(rows, func() error { return take(lists[q], rows) })
		})
	}
	return tx.SendBatch(ctx, batch).Close()
}

// complete compares all rows for those queries that have fewer candidates than there are.
func (s *Store) complete(ctx context.Context, tx pgx.Tx, queries *eval.Embeddings, lists []*gallery.Table, n int, where gallery.Filter) error {
	fewest := n
	for _, t := range lists {
		fewest = min(fewest, t.N)
	}
	if fewest == n {
		return nil
	}
	text, args := condition(where, nil)
	var there int
	if err := tx.QueryRow(ctx, fmt.Sprintf("select count(*) from (select from %s where %s limit %d) rows", s.table(), text, n), args...).Scan(&there); err != nil || fewest == there {
		return err
	}
	var short []int
	for q, t := range lists {
		if t.N < there {
			short = append(short, q)
		}
	}
	if _, err := tx.Exec(ctx, "set local enable_indexscan = off"); err != nil {
		return err
	}
	if err := s.nearest(ctx, tx, queries, short, lists, n, where); err != nil {
		return err
	}
	for _, q := range short {
		if lists[q].N < there {
			return fmt.Errorf("%w: %d of %d", gallery.ErrTooFew, lists[q].N, there)
		}
	}
	return nil
}
