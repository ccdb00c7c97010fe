package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/vernier-ml/vernier/gallery"
)

// Upsert implements gallery.Store: in one transaction, behind which the index is made if
// there are enough rows for one. Those who write take turns.
func (s *Store) Upsert(ctx context.Context, rows *gallery.Table) (gallery.Changes, error) {
	if rows.N == 0 { // an index may be left to do
		if _, err := s.stored(ctx, s.pool); errors.Is(err, gallery.ErrNoGallery) {
			return gallery.Changes{}, nil
		} else if err != nil {
			return gallery.Changes{}, err
		}
		return gallery.Changes{}, s.explain(s.makeIndex(ctx))
	}
	t, repeated, err := s.distinct(rows)
	if err != nil {
		return gallery.Changes{}, fmt.Errorf("%s: %w", s.at.shown, err)
	}
	if err := s.create(ctx); err != nil {
		return gallery.Changes{}, err
	}
	did, err := s.merge(ctx, t)
	if err != nil {
		return gallery.Changes{}, s.explain(err)
	}
	did.Repeated = repeated
	if err := s.makeIndex(ctx); err != nil {
		return gallery.Changes{}, fmt.Errorf("the rows are there, but not their index, so that searches compare all of them; the same command makes it: %w", s.explain(err))
	}
	return did, nil
}

// distinct checks rows, and leaves those that count.
func (s *Store) distinct(rows *gallery.Table) (*gallery.Table, int, error) {
	if err := rows.Validate(); err != nil {
		return nil, 0, err
	}
	if rows.H != s.info.Dim {
		return nil, 0, fmt.Errorf("rows of %d numbers, the model makes %d", rows.H, s.info.Dim)
	}
	return gallery.Distinct(rows)
}

// lockGallery lets those who write to a gallery, or make it, take turns until their
// transactions end.
func lockGallery(ctx context.Context, tx pgx.Tx, name string) error {
	_, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended('vernier gallery ' || $1, 0))", name)
	return err
}

// create makes extension and tables, if they are not there.
func (s *Store) create(ctx context.Context) error {
	info, err := s.stored(ctx, s.pool)
	if err == nil {
		return s.same(info)
	}
	if !errors.Is(err, gallery.ErrNoGallery) {
		return err
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := lockGallery(ctx, tx, ""); err != nil { // all galleries of the database: they share a table
			return err
		}
		storage := ""
		if s.info.Dim <= maxPlainDim {
			storage = " storage plain"
		}
		for _, sql := range []string{
			"set local client_min_messages = warning",
			"create extension if not exists vector",
			"create table if not exists " + galleries + " (name text primary key, format int not null, metric text not null, model text not null, dim int not null)",
			fmt.Sprintf("create table if not exists %s (key text primary key, path text not null, class text not null, embedding vector(%d)%s not null)", s.table(), s.info.Dim, storage),
			fmt.Sprintf("create unique index if not exists %s on %s (path) where path <> ''", pgx.Identifier{s.at.table + "_path"}.Sanitize(), s.table()),
			fmt.Sprintf("create index if not exists %s on %s (class)", pgx.Identifier{s.at.table + "_class"}.Sanitize(), s.table()),
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "insert into "+galleries+" values ($1, $2, $3, $4, $5) on conflict do nothing", s.at.table, format, s.info.Metric, s.info.Model, s.info.Dim)
		return err
	})
	if err != nil {
		return s.explain(err)
	}
	s.pool.Reset() // connections of before do not know the type of vectors
	if err := s.checkVersion(ctx); err != nil {
		return err
	}
	if info, err = s.stored(ctx, s.pool); err != nil {
		return err
	}
	return s.same(info)
}

// merge brings rows into the table, all or none.
func (s *Store) merge(ctx context.Context, t *gallery.Table) (did gallery.Changes, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := lockGallery(ctx, tx, s.at.table); err != nil {
			return err
		}
		info, err := s.stored(ctx, tx)
		if err == nil {
			err = s.same(info)
		}
		if err == nil {
			_, err = tx.Exec(ctx, fmt.Sprintf("create temporary table incoming (key text primary key, path text not null, class text not null, embedding vector(%d) not null) on commit drop", s.info.Dim))
		}
		if err != nil {
			return err
		}
		if err := copyRows(ctx, tx, t); err != nil {
			return err
		}
		did, err = s.exchange(ctx, tx)
		return err
	})
	return did, err
}

func copyRows(ctx context.Context, tx pgx.Tx, t *gallery.Table) error {
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"incoming"}, []string{"key", "path", "class", "embedding"}, pgx.CopyFromSlice(t.N, func(i int) ([]any, error) {
		return []any{t.Keys[i], t.Path(i), t.Class(i), pgvector.NewVector(t.Row(i))}, nil
	}))
	if err == nil {
		_, err = tx.Exec(ctx, "analyze incoming")
	}
	return err
}

// exchange replaces rows of the gallery by those of the table incoming.
func (s *Store) exchange(ctx context.Context, tx pgx.Tx) (did gallery.Changes, err error) {
	counts := map[string]*int{"unchanged": &did.Unchanged, "all": &did.Added}
	for _, step := range []struct{ counts, sql string }{
		// What is not known of a row stays as the gallery has it.
		{"", "update incoming i set path = o.path from GALLERY o where o.key = i.key and i.path = '' and not exists (select from incoming j where j.path = o.path)"},
		{"", "update incoming i set class = o.class from GALLERY o where o.key = i.key and i.class = ''"},
		{"", "update incoming i set class = o.class from GALLERY o where o.path = i.path and o.path <> '' and i.class = ''"},
		{"unchanged", "delete from incoming i using GALLERY o where o.key = i.key and o.path = i.path and o.class = i.class and o.embedding = i.embedding"},
		{"", "create temporary table outgoing on commit drop as select o.key, i.key as successor from GALLERY o join incoming i on o.key = i.key union select o.key, i.key from GALLERY o join incoming i on o.path = i.path and o.path <> ''"},
		{"", "delete from GALLERY o using outgoing g where o.key = g.key"},
		{"all", "insert into GALLERY (key, path, class, embedding) select key, path, class, embedding from incoming"},
	} {
		tag, err := tx.Exec(ctx, replaceTable(step.sql, s.table()))
		if err != nil {
			return did, err
		}
		if n := counts[step.counts]; n != nil {
			*n = int(tag.RowsAffected())
		}
	}
	if err := tx.QueryRow(ctx, "select count(distinct successor) from outgoing").Scan(&did.Replaced); err != nil {
		return did, err
	}
	did.Added -= did.Replaced
	return did, nil
}

// Remove implements gallery.Store.
func (s *Store) Remove(ctx context.Context, where gallery.Filter) (removed int, err error) {
	if where.Empty() {
		return 0, gallery.ErrNothingNamed
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		info, err := s.stored(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.same(info); err != nil {
			return err
		}
		if err := lockGallery(ctx, tx, s.at.table); err != nil {
			return err
		}
		text, args := condition(where, nil)
		tag, err := tx.Exec(ctx, "delete from "+s.table()+" where "+text, args...)
		removed = int(tag.RowsAffected())
		return err
	})
	if errors.Is(err, gallery.ErrNoGallery) {
		return 0, nil
	}
	return removed, s.explain(err)
}
