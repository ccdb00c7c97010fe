package weaviate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/gallery/weaviate"
	"github.com/vernier-ml/vernier/internal/storetest"
)

// Environment of the tests: addresses of the two nodes of a cluster, with a space between
// them, that .ci/with-weaviate starts; and that they are required.
const (
	nodesVariable   = "VERNIER_TEST_WEAVIATE"
	requireVariable = "VERNIER_REQUIRE_WEAVIATE"
)

// lease is short, so that the process after one that was killed does not wait long.
var lease = weaviate.Options{Lease: 2 * time.Second}

func TestMain(m *testing.M) {
	storetest.Main(m, killedRows, func(ctx context.Context, address string) (gallery.Store, error) {
		return weaviate.Open(ctx, address, storetest.Info, lease)
	})
}

// nodes are the addresses of the nodes, or the test is skipped.
func nodes(t *testing.T) []string {
	t.Helper()
	return storetest.Servers(t, nodesVariable, requireVariable, "there is no Weaviate. make test-weaviate builds it and starts two nodes")
}

var collections atomic.Int64

// fresh is a collection that is not there.
func fresh() string { return fmt.Sprintf("?collection=T%d_%d", os.Getpid(), collections.Add(1)) }

// What one node is given, the other one has.
func TestACollectionIsAStore(t *testing.T) {
	list := nodes(t)
	storetest.Run(t, func(*testing.T) storetest.Open {
		collection, opened := fresh(), 0
		return func(info gallery.Info) (gallery.Store, error) {
			opened++
			return weaviate.Open(context.Background(), list[opened%2]+collection, info, lease)
		}
	})
}

func open(t *testing.T, address string, info gallery.Info) *weaviate.Store {
	t.Helper()
	s, err := weaviate.Open(t.Context(), address, info, lease)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// One row in a hundred passes a filter, and all that a search asks for come back.
func TestAFilterLosesNoRows(t *testing.T) {
	list := nodes(t)
	rows := storetest.Rows("a", 5000, 1)
	for i := range rows.Classes {
		rows.Classes[i] = fmt.Sprint("class ", i/10%100)
	}
	s := open(t, list[0]+fresh(), storetest.Info)
	if did, err := s.Upsert(t.Context(), rows); err != nil || did.Added != rows.N {
		t.Fatal(did, err)
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.Index != "HNSW of Weaviate, l2-squared, 2 shards" || stats.Rows != rows.N {
		t.Fatalf("%+v, %v", stats, err)
	}
	queries := storetest.Rows("q", 20, 2)
	for _, k := range []int{10, 50, 100} {
		found, err := gallery.Search(t.Context(), s, queries.Embeddings, storetest.Info, k, gallery.SearchOptions{Where: gallery.Filter{Classes: []string{"class 7"}}})
		if err != nil {
			t.Fatal(err)
		}
		for q, near := range found {
			if len(near) != min(k, 50) {
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

// Other metrics are searched by what is near by them too, and rows come back as they were.
func TestMetrics(t *testing.T) {
	list := nodes(t)
	rows := storetest.Rows("a", 60, 3)
	for name, index := range map[string]string{"cosine": "cosine", "dot": "dot", "sqeuclidean": "l2-squared"} {
		info := gallery.Info{Metric: name, Model: "00", Dim: rows.H}
		s := open(t, list[1]+fresh(), info)
		if _, err := s.Upsert(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if stats, err := s.Stats(t.Context()); err != nil || !strings.Contains(stats.Index, index) {
			t.Errorf("%+v, %v", stats, err)
		}
		file, err := gallery.OpenFile(t.TempDir()+"/exact.index", info, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Upsert(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		queries := storetest.Rows("q", 5, 4).Embeddings
		got, err := gallery.Search(t.Context(), s, queries, info, 7, gallery.SearchOptions{Candidates: 20})
		if err != nil {
			t.Fatal(err)
		}
		want, err := gallery.Search(t.Context(), file, queries, info, 7, gallery.SearchOptions{})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v (%v)", name, got, want, err)
		}
	}
}

// killedRows are enough for a push that can be killed at its different steps.
const killedRows = 2000

func TestAKilledPushLeavesAllOrNothing(t *testing.T) {
	list := nodes(t)
	collection := fresh()
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[int]bool{}
	for round := range 8 {
		cmd := storetest.Push(list[round%2] + collection)
		started := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait := time.Duration(20+r.IntN(800*(round+1))) * time.Millisecond
		if round > 0 {
			wait += lease.Lease // of the one before
		}
		time.Sleep(wait)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s := open(t, list[(round+1)%2]+collection, storetest.Info)
		stats, err := s.Stats(t.Context())
		if err != nil || stats.Rows != 0 && stats.Rows != killedRows {
			t.Fatalf("killed after %v: %+v, %v", time.Since(started), stats, err)
		}
		n := 0
		err = s.Scan(t.Context(), gallery.Filter{}, func(part *gallery.Table) error { n += part.N; return nil })
		if err != nil || n != stats.Rows {
			t.Fatalf("killed after %v: %d rows of %d, %v", time.Since(started), n, stats.Rows, err)
		}
		seen[stats.Rows] = true
		if stats.Rows > 0 && round%2 == 0 {
			if n, err := s.Remove(t.Context(), gallery.Filter{Keys: storetest.PushedRows(killedRows).Keys}); err != nil || n != killedRows {
				t.Fatal(n, err)
			}
		}
	}
	t.Logf("rows after the kills: %v", seen)
	if out, err := storetest.Push(list[0] + collection).CombinedOutput(); err != nil {
		t.Fatalf("again: %v\n%s", err, out)
	}
	if stats, err := open(t, list[1]+collection, gallery.Info{}).Stats(t.Context()); err != nil || stats.Rows != killedRows {
		t.Errorf("after the last: %+v, %v", stats, err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	list := nodes(t)
	if _, err := weaviate.Open(t.Context(), list[0]+fresh(), gallery.Info{}, lease); !errors.Is(err, gallery.ErrNoGallery) {
		t.Errorf("nothing to read: %v", err)
	}
	t.Setenv("WEAVIATE_API_KEY", "the-wrong-one")
	if _, err := weaviate.Open(t.Context(), list[0]+fresh(), storetest.Info, lease); err == nil || !strings.Contains(err.Error(), "set WEAVIATE_API_KEY to the key of an account") || strings.Contains(err.Error(), "the-wrong-one") {
		t.Errorf("a wrong key: %v", err)
	}
}
