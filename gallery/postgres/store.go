package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/metric"
)

// format is that of the tables: a store of another one is refused.
const format = 1

// galleries is the table that says of every gallery of a schema what it holds.
const galleries = "vernier_galleries"

// Options are for Open.
type Options struct {
	// IndexFrom is the number of rows from which on Upsert makes an index; below it every
	// row is compared. 0 means DefaultIndexFrom.
	IndexFrom int
	// IndexMemory bounds the bytes that the server may take while it makes the index; with
	// less than IndexSize says that is slow. 0 means DefaultIndexMemory.
	IndexMemory int64
	// Notice, if set, is called with what takes long.
	Notice func(text string)
}

const (
	DefaultIndexFrom   = 10_000
	DefaultIndexMemory = 1 << 30
)

// Store is a gallery.Store in a table.
type Store struct {
	at   address
	opt  Options
	pool *pgxpool.Pool
	info gallery.Info
	kind distance
}

// Open opens a gallery for rows of a metric and model. With a zero Info it may be of any
// and must be there, else the error is gallery.ErrNoGallery; otherwise it need not be: the first
// Upsert makes it, and where it is missing the extension. A server that does not
// answer, a wrong password, and rows of another model are errors here.
func Open(ctx context.Context, text string, info gallery.Info, opt Options) (*Store, error) {
	at, err := parseAddress(text)
	if err != nil {
		return nil, err
	}
	s := &Store{at: at, opt: opt, info: info}
	if s.opt.IndexFrom == 0 {
		s.opt.IndexFrom = DefaultIndexFrom
	}
	if s.opt.IndexMemory == 0 {
		s.opt.IndexMemory = DefaultIndexMemory
	}
	if s.opt.Notice == nil {
		s.opt.Notice = func(string) {}
	}
	if info != (gallery.Info{}) {
		if s.kind, err = distanceOf(info); err != nil {
			return nil, err
		}
	}
	at.config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		var there bool
		if err := conn.QueryRow(ctx, "select exists (select from pg_extension where extname = 'vector')").Scan(&there); err != nil || !there {
			return err
		}
		return pgxvec.RegisterTypes(ctx, conn)
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, at.config); err != nil {
		return nil, s.explain(err)
	}
	if err := s.begin(ctx); err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

// begin looks whose rows are there.
func (s *Store) begin(ctx context.Context) error {
	if err := s.checkVersion(ctx); err != nil {
		return err
	}
	info, err := s.stored(ctx, s.pool)
	switch {
	case errors.Is(err, gallery.ErrNoGallery) && s.info == (gallery.Info{}):
		return err
	case errors.Is(err, gallery.ErrNoGallery):
		return nil
	case err != nil:
		return err
	case s.info == (gallery.Info{}):
		s.info = info
		s.kind, err = distanceOf(info)
		return err
	}
	return s.same(info)
}

var versionNumber = regexp.MustCompile(`^(\d+)\.(\d+)`)

// checkVersion refuses releases of pgvector whose filters lose rows.
func (s *Store) checkVersion(ctx context.Context) error {
	var version string
	err := s.pool.QueryRow(ctx, "select extversion from pg_extension where extname = 'vector'").Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // Upsert makes it
	}
	if err != nil {
		return s.explain(err)
	}
	if tooOld(version) {
		return fmt.Errorf("%s: pgvector is of version %s, want 0.8.0 or later: those before return too few rows with a filter; after an update of the server: ALTER EXTENSION vector UPDATE", s.at.shown, version)
	}
	return nil
}

func tooOld(version string) bool {
	m := versionNumber.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major == 0 && minor < 8
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

const infoQuery = "select metric, model, dim, format from " + galleries + " where name = $1"

// stored says whose rows are there.
func (s *Store) stored(ctx context.Context, q querier) (gallery.Info, error) {
	var info gallery.Info
	var found int
	err := q.QueryRow(ctx, infoQuery, s.at.table).Scan(&info.Metric, &info.Model, &info.Dim, &found)
	if errors.Is(err, pgx.ErrNoRows) || hasCode(err, noTable) {
		return info, fmt.Errorf("%s: %w; the first rows that are put there make it", s.at.shown, gallery.ErrNoGallery)
	}
	if err != nil {
		return info, s.explain(err)
	}
	if found != format {
		return info, fmt.Errorf("%s is of format %d, and format %d is read: use the vernier that made it, or push into another table", s.at.shown, found, format)
	}
	return info, nil
}

func hasCode(err error, code string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == code
}

func (s *Store) same(stored gallery.Info) error {
	if err := stored.Same(s.info); err != nil {
		return fmt.Errorf("%s: %w", s.at.shown, err)
	}
	return nil
}

// Info implements gallery.Store.
func (s *Store) Info() gallery.Info { return s.info }

// Exact implements gallery.Store.
func (s *Store) Exact() bool { return false }

// Close implements gallery.Store.
func (s *Store) Close() error { s.pool.Close(); return nil }

// table is the gallery's table as SQL.
func (s *Store) table() string { return pgx.Identifier{s.at.table}.Sanitize() }

// within does something in one transaction that sees the gallery as it is at one time, if
// that is there and of the same model. It is false if there is none.
func (s *Store) within(ctx context.Context, do func(tx pgx.Tx) error) (there bool, err error) {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return false, s.explain(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	info, err := s.stored(ctx, tx)
	if errors.Is(err, gallery.ErrNoGallery) {
		return false, nil
	}
	if err == nil {
		err = s.same(info)
	}
	if err != nil {
		return true, err
	}
	if err := do(tx); err != nil {
		return true, s.explain(err)
	}
	return true, nil
}

// none is a table without rows.
func (s *Store) none() *gallery.Table {
	return &gallery.Table{Embeddings: &eval.Embeddings{H: s.info.Dim}, Keys: []string{}, Paths: []string{}, Classes: []string{}, Metric: s.info.Metric, Model: s.info.Model}
}

// columns are what take reads.
const columns = "key, path, class, embedding"

// take adds a row of a result to a table.
func take(t *gallery.Table, rows pgx.Rows) error {
	var key, path, class string
	var x pgvector.Vector
	if err := rows.Scan(&key, &path, &class, &x); err != nil {
		return err
	}
	t.X = append(t.X, x.Slice()...)
	t.Keys, t.Paths, t.Classes = append(t.Keys, key), append(t.Paths, path), append(t.Classes, class)
	t.N++
	return nil
}

// condition is a filter as SQL, with its arguments behind those that are there.
func condition(where gallery.Filter, args []any) (string, []any) {
	text := "true"
	for _, c := range []struct {
		column string
		list   []string
	}{{"key", where.Keys}, {"path", where.Paths}, {"class", where.Classes}} {
		if len(c.list) > 0 {
			args = append(args, c.list)
			text += fmt.Sprintf(" and %s = any($%d)", c.column, len(args))
		}
	}
	return text, args
}

// distance is how the database compares rows, so that what is near by a metric is near.
type distance struct {
	operator string // of pgvector
	class    string // of its operators, without the type
}

// distanceOf is that of a metric.
func distanceOf(info gallery.Info) (distance, error) {
	m, err := metric.Parse(info.Metric)
	if err != nil {
		return distance{}, err
	}
	if info.Dim > maxDim {
		return distance{}, fmt.Errorf("rows of %d numbers: pgvector has at most %d; keep them in an index file", info.Dim, maxDim)
	}
	switch m.Kind {
	case metric.BRM, metric.Euclidean, metric.SquaredEuclidean:
		return distance{"<->", "l2_ops"}, nil
	case metric.Manhattan:
		return distance{"<+>", "l1_ops"}, nil
	case metric.Cosine:
		return distance{"<=>", "cosine_ops"}, nil
	case metric.Dot:
		return distance{"<#>", "ip_ops"}, nil
	}
	return distance{}, fmt.Errorf("a database compares rows by Euclidean distance, which says nothing of the nearest by %s: keep these rows in an index file", info.Metric)
}
