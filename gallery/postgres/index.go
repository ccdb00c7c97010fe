package postgres

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/jackc/pgx/v5"
)

// Bounds of pgvector 0.8: numbers of a row, of a row with an index, and of a row with an
// index in half precision.
const (
	maxDim      = 16000
	maxIndexed  = 2000
	maxHalfDim  = 4000
	maxPlainDim = 1900 // that fit a page, so that rows stand in the table itself
)

// Parameters of the index. A learned metric makes dense clusters, and with pgvector's own
// effort of 64 some of their rows are not reached from outside: the query that lost most
// found 2 of its 10 neighbors.
const (
	links  = 16
	effort = 200
)

// indexed is what the index holds of a row, as SQL, and its type; none if rows are too long.
func (s *Store) indexed() (expression, kind string) {
	switch {
	case s.info.Dim <= maxIndexed:
		return "embedding", "vector"
	case s.info.Dim <= maxHalfDim:
		return fmt.Sprintf("(embedding::halfvec(%d))", s.info.Dim), "halfvec"
	}
	return "", ""
}

// IndexSize estimates the bytes of an HNSW index of n rows of dim numbers, which making it
// takes of the server's memory too: the numbers, twice 16 neighbors of 6 bytes, their places
// in the layers above, and what PostgreSQL keeps of every element. Of 60,000 rows of 128 it
// was 51 MB.
func IndexSize(n, dim int) int64 {
	width := 4
	if dim > maxIndexed {
		width = 2
	}
	return int64(n) * int64(width*dim+360)
}

func (s *Store) indexName() string { return pgx.Identifier{s.at.table + "_nearest"}.Sanitize() }

// makeIndex makes the index if there are enough rows and it is not there.
func (s *Store) makeIndex(ctx context.Context) error {
	expression, kind := s.indexed()
	if kind == "" {
		return nil
	}
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if err := lockGallery(ctx, tx, s.at.table); err != nil {
		return err
	}
	var there bool
	if err := tx.QueryRow(ctx, "select to_regclass($1) is not null", s.indexName()).Scan(&there); err != nil || there {
		return err
	}
	var n int
	if err := tx.QueryRow(ctx, "select count(*) from "+s.table()).Scan(&n); err != nil || n < s.opt.IndexFrom {
		return err
	}
	need := IndexSize(n, s.info.Dim)
	memory := min(need+need/4+8<<20, s.opt.IndexMemory)
	slow := ""
	if memory < need {
		slow = fmt.Sprintf("; it may take %s, and is slow with less than it needs", humanize.IBytes(uint64(memory)))
	}
	s.opt.Notice(fmt.Sprintf("%s: making the index of %s rows, which needs about %s of the server's memory%s", s.at.shown, humanize.Comma(int64(n)), humanize.IBytes(uint64(need)), slow))
	if _, err := tx.Exec(ctx, "select set_config('maintenance_work_mem', $1, true)", fmt.Sprintf("%dkB", max(memory>>10, 1024))); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf("create index %s on %s using hnsw (%s %s_%s) with (m = %d, ef_construction = %d)", s.indexName(), s.table(), expression, kind, s.kind.class, links, effort)); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	_, err = s.pool.Exec(ctx, "analyze "+s.table())
	return err
}
