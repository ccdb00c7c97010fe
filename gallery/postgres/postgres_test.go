package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/gallery/postgres"
	"github.com/vernier-ml/vernier/internal/storetest"
)

// Environment of the tests: addresses of two servers, with a space between them, that
// .ci/with-postgres starts; and that a server is required.
const (
	serversVariable = "VERNIER_TEST_POSTGRES"
	requireVariable = "VERNIER_REQUIRE_POSTGRES"
)

func TestMain(m *testing.M) {
	storetest.Main(m, killedRows, func(ctx context.Context, address string) (gallery.Store, error) {
		return postgres.Open(ctx, address, storetest.Info, postgres.Options{IndexFrom: 100})
	})
}

// servers are the addresses of the servers, or the test is skipped.
func servers(t *testing.T) []string {
	t.Helper()
	return storetest.Servers(t, serversVariable, requireVariable, "there is no PostgreSQL. make test-postgres starts two servers of Debian's packages")
}

var tables atomic.Int64

// fresh is the address of a table that is not there.
func fresh(server string) string {
	return fmt.Sprintf("%s?table=t%d_%d", server, os.Getpid(), tables.Add(1))
}

// Every row of the suite is found through the index too, which is made from the 50th on.
func TestATableIsAStore(t *testing.T) {
	list := servers(t)
	for name, from := range map[string]int{"without an index": 0, "with an index": 50} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(*testing.T) storetest.Open {
				address := fresh(list[0])
				return func(info gallery.Info) (gallery.Store, error) {
					return postgres.Open(context.Background(), address, info, postgres.Options{IndexFrom: from})
				}
			})
		})
	}
}

func TestTablesOfTwoServersAreAStore(t *testing.T) {
	list := servers(t)
	storetest.Run(t, func(*testing.T) storetest.Open {
		one, two := fresh(list[0]), fresh(list[1])
		return func(info gallery.Info) (gallery.Store, error) {
			var stores []gallery.Store
			for _, address := range []string{one, two} {
				s, err := postgres.Open(context.Background(), address, info, postgres.Options{IndexFrom: 50})
				if err != nil {
					for _, s := range stores {
						s.Close()
					}
					return nil, err
				}
				stores = append(stores, s)
			}
			return gallery.Shards(stores...)
		}
	})
}

func open(t *testing.T, address string, info gallery.Info, opt postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), address, info, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// One row in a hundred passes a filter, and all that a search asks for come back, although
// the index visits rows of all classes.
func TestAFilterLosesNoRows(t *testing.T) {
	list := servers(t)
	rows := storetest.Rows("a", 20000, 1)
	for i := range rows.Classes {
		rows.Classes[i] = fmt.Sprint("class ", i/10%100)
	}
	s := open(t, fresh(list[0]), storetest.Info, postgres.Options{})
	if did, err := s.Upsert(t.Context(), rows); err != nil || did.Added != rows.N {
		t.Fatal(did, err)
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.Index != "HNSW of pgvector, vector_l2_ops" || stats.Rows != rows.N {
		t.Fatalf("%+v, %v", stats, err)
	}
	queries := storetest.Rows("q", 50, 2)
	for _, k := range []int{10, 100, 200, 300} {
		found, err := gallery.Search(t.Context(), s, queries.Embeddings, storetest.Info, k, gallery.SearchOptions{Where: gallery.Filter{Classes: []string{"class 7"}}})
		if err != nil {
			t.Fatal(err)
		}
		for q, near := range found {
			if len(near) != min(k, 200) {
				t.Fatalf("query %d has %d of %d rows", q, len(near), k)
			}
			for _, m := range near {
				if m.Class != "class 7" {
					t.Fatalf("%+v", m)
				}
			}
		}
	}
}

// killedRows are enough for a push that can be killed at its different steps.
const killedRows = 6000

func TestAKilledPushLeavesAllOrNothing(t *testing.T) {
	list := servers(t)
	address := fresh(list[0])
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[int]bool{}
	for round := range 12 {
		cmd := storetest.Push(address)
		started := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+r.IntN(60*(round+1))) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s := open(t, address, storetest.Info, postgres.Options{})
		stats, err := s.Stats(t.Context())
		if err != nil || stats.Rows != 0 && stats.Rows != killedRows {
			t.Fatalf("killed after %v: %+v, %v", time.Since(started), stats, err)
		}
		seen[stats.Rows] = true
		if stats.Rows > 0 && round%2 == 0 {
			if n, err := s.Remove(t.Context(), gallery.Filter{Classes: slices.Compact(slices.Sorted(slices.Values(storetest.PushedRows(10).Classes)))}); err != nil || n != killedRows {
				t.Fatal(n, err)
			}
		}
	}
	t.Logf("rows after the kills: %v", seen)
	if out, err := storetest.Push(address).CombinedOutput(); err != nil {
		t.Fatalf("again: %v\n%s", err, out)
	}
	stats, err := open(t, address, gallery.Info{}, postgres.Options{}).Stats(t.Context())
	if err != nil || stats.Rows != killedRows || !strings.HasPrefix(stats.Index, "HNSW") {
		t.Errorf("after the last: %+v, %v", stats, err)
	}
}

// execute runs SQL on a server.
func execute(t *testing.T, address, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// at is a server's address with another user or database.
func at(server, user, database string) string {
	_, rest, _ := strings.Cut(server, "@")
	host, _, _ := strings.Cut(rest, "/")
	return fmt.Sprintf("postgres://%s@%s/%s", user, host, database)
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestErrorsSayWhatToDo(t *testing.T) {
	list := servers(t)
	name := fmt.Sprint("bare", os.Getpid())
	execute(t, list[0], "drop role if exists guarded")
	execute(t, list[0], "create role guarded login password 'the-right-one'")
	execute(t, list[0], "create database "+name)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), list[0])
		if err == nil {
			defer conn.Close(context.Background())
			_, err = conn.Exec(context.Background(), "drop database if exists "+name+" with (force)")
		}
		if err != nil {
			t.Log(err)
		}
	})
	t.Setenv("PGPASSWORD", "the-wrong-one")
	put := func(address string) error {
		s, err := postgres.Open(t.Context(), address, storetest.Info, postgres.Options{})
		if err != nil {
			return err
		}
		defer s.Close()
		_, err = s.Upsert(t.Context(), storetest.Rows("a", 3, 1))
		return err
	}
	for says, address := range map[string]string{
		"is a PostgreSQL server running at 127.0.0.1:": fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", freePort(t)),
		"set PGPASSWORD, or PGPASSFILE to a file":      at(list[0], "guarded", "postgres"),
		"createdb -h 127.0.0.1":                        at(list[0], "postgres", "nowhere"),
	} {
		err := put(address)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "the-wrong-one") {
			t.Errorf("%s: %v, want %q", address, err, says)
		}
	}
	t.Setenv("PGPASSWORD", "the-right-one")
	if err := put(at(list[0], "guarded", name)); err == nil || !strings.Contains(err.Error(), "CREATE EXTENSION vector") || strings.Contains(err.Error(), "the-right-one") {
		t.Errorf("no right to make the extension: %v", err)
	}
	if _, err := postgres.Open(t.Context(), fresh(list[0]), gallery.Info{}, postgres.Options{}); !errors.Is(err, gallery.ErrNoGallery) {
		t.Errorf("nothing to read: %v", err)
	}
	poincare := gallery.Info{Metric: "poincare:c=1", Model: "00", Dim: 3}
	if _, err := postgres.Open(t.Context(), fresh(list[0]), poincare, postgres.Options{}); err == nil || !strings.Contains(err.Error(), "index file") {
		t.Errorf("hyperbolic rows: %v", err)
	}
}

// Rows that are too long for an index are searched through one of half precision, or
// compared one by one.
func TestLongRows(t *testing.T) {
	list := servers(t)
	for _, c := range []struct {
		dim           int
		metric, index string
	}{
		{1800, "euclidean", "vector_l2_ops"}, {2500, "euclidean", "halfvec_l2_ops"}, {4500, "euclidean", "every row is compared"},
		{1800, "manhattan", "vector_l1_ops"}, {2500, "manhattan", "halfvec_l1_ops"}, {4500, "manhattan", "every row is compared"},
	} {
		dim, index := c.dim, c.index
		info := gallery.Info{Metric: c.metric, Model: "00", Dim: dim}
		r := rand.New(rand.NewPCG(1, uint64(dim)))
		rows := storetest.Rows("a", 120, 1)
		rows.H, rows.X = dim, nil
		for range 120 * dim {
			rows.X = append(rows.X, float32(r.NormFloat64()))
		}
		s := open(t, fresh(list[0]), info, postgres.Options{IndexFrom: 100})
		if _, err := s.Upsert(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if stats, err := s.Stats(t.Context()); err != nil || !strings.HasSuffix(stats.Index, index) {
			t.Errorf("%d: %+v, %v", dim, stats, err)
		}
		found, err := gallery.Search(t.Context(), s, rows.Embeddings, info, 1, gallery.SearchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, near := range found {
			if near[0].Key != rows.Keys[i] || near[0].Distance != 0 {
				t.Errorf("%d: row %d is nearest to %+v", dim, i, near[0])
			}
		}
	}
}
