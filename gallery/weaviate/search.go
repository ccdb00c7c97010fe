package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/metric"
)

const (
	searched = 8 // queries of a request
	attempts = 5 // of a search while others write
)

// Candidates implements gallery.Store. Where the index returns too few of the rows that there
// are, or more than the 10,000 that Weaviate returns are asked for, all are compared.
func (s *Store) Candidates(ctx context.Context, queries *eval.Embeddings, n int, where gallery.Filter) ([]*gallery.Table, error) {
	switch {
	case queries.H != s.info.Dim:
		return nil, fmt.Errorf("queries of %d numbers, the gallery has rows of %d", queries.H, s.info.Dim)
	case n < 1:
		return nil, fmt.Errorf("%d candidates asked for, want at least 1", n)
	}
	lists := make([]*gallery.Table, queries.N)
	for q := range lists {
		lists[q] = s.none()
	}
	for attempt := 1; ; attempt++ {
		var before int64
		there, err := s.reading(ctx, func(st *state) error {
			before = st.Commit
			return s.nearest(ctx, st, queries, lists, n, where)
		})
		if err != nil {
			return nil, err
		}
		if !there || attempt == attempts {
			return lists, nil
		}
		// What was replaced in the meantime may have been deleted before it was found.
		st, err := s.state(ctx)
		if err != nil {
			return nil, err
		}
		if st.Commit == before {
			return lists, nil
		}
	}
}

// nearest fills the lists.
func (s *Store) nearest(ctx context.Context, st *state, queries *eval.Embeddings, lists []*gallery.Table, n int, f gallery.Filter) error {
	all := append(conditions(f), st.settled()...)
	fits := matcher(f)
	limit := min(n+len(st.Dead), maxResults)
	for from := 0; from < queries.N; from += searched {
		to := min(from+searched, queries.N)
		var parts []string
		for q := from; q < to; q++ {
			vector, err := json.Marshal(queries.Row(q))
			if err != nil {
				return err
			}
			arguments := fmt.Sprintf("nearVector: {vector: %s}, limit: %d", vector, limit)
			if text := graphQL(all); text != "" {
				arguments += ", " + text
			}
			parts = append(parts, fmt.Sprintf("q%d: %s(%s) { %s }", q-from, s.at.collection, arguments, allFields))
		}
		var data struct{ Get map[string][]row }
		text := "{ Get { " + strings.Join(parts, " ") + " } }"
		err := s.query(ctx, text, &data)
		for try := 1; try < tries && errors.Is(err, errNodeAway); try++ {
			if err = sleep(ctx, time.Duration(try)*time.Second); err == nil {
				data.Get = nil
				err = s.query(ctx, text, &data)
			}
		}
		if err != nil {
			return err
		}
		for q := from; q < to; q++ {
			lists[q] = s.none()
			err := pass(st, data.Get[fmt.Sprintf("q%d", q-from)], fits, func(r row) error {
				if lists[q].N == n {
					return nil
				}
				return s.add(lists[q], r)
			})
			if err != nil {
				return err
			}
		}
	}
	return s.complete(ctx, st, queries, lists, n, f, all)
}

// complete compares all rows with those queries that have fewer candidates than there are.
func (s *Store) complete(ctx context.Context, st *state, queries *eval.Embeddings, lists []*gallery.Table, n int, f gallery.Filter, all []where) error {
	var short []int
	for q, t := range lists {
		if t.N < n {
			short = append(short, q)
		}
	}
	if len(short) == 0 {
		return nil
	}
	there, err := s.count(ctx, all)
	if err != nil {
		return err
	}
	if len(st.Dead) == 0 {
		short = slices.DeleteFunc(short, func(q int) bool { return lists[q].N >= min(n, there) })
	}
	if len(short) == 0 {
		return nil
	}
	m, err := metric.Parse(s.info.Metric)
	if err != nil {
		return err
	}
	best := make([][]far, len(lists))
	err = s.each(ctx, st, f, allFields, func(r row) error {
		for _, q := range short {
			d, err := eval.Distance(m, queries.Row(q), r.Additional.Vector)
			if err != nil {
				return err
			}
			if best[q] = append(best[q], far{r, d}); len(best[q]) >= 2*n+1000 {
				best[q] = firstOf(best[q], n)
			}
		}
		return nil
	})
	for _, q := range short {
		lists[q] = s.none()
		for _, c := range firstOf(best[q], n) {
			if err == nil {
				err = s.add(lists[q], c.row)
			}
		}
	}
	return err
}

// far is a row and its distance from a query.
type far struct {
	row      row
	distance float64
}

func firstOf(list []far, n int) []far {
	slices.SortFunc(list, func(a, b far) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.row.Key, b.row.Key))
	})
	return list[:min(n, len(list))]
}
