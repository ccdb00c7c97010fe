package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/run"
)

// maker fills in a report.
type maker struct {
	*Report
	ctx  context.Context
	eng  engine.Engine
	s    *subject
	name string // of the rows, in the page's charts
	seed uint64
	loss string // name of the loss that was trained with
	opt  Options

	near    *eval.NeighborList // of all rows
	ranking *eval.Retrieval
}

func (m *maker) make(folder run.Folder) error {
	for _, step := range []func() error{
		m.search,
		func() error { return m.training(folder) },
		func() error { return distances([]*maker{m}) },
		m.queries,
		m.confusions,
		func() error { return maps([]*maker{m}) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// search finds the neighbors of every query, and the rank of its first right one.
func (m *maker) search() error {
	queries := m.s.sides.Queries
	gallery, opt := m.s.sides.Search()
	opt.Workers = m.opt.Workers
	progress := func(task string) func(done, total int) {
		return func(done, total int) { run.OrSilent(m.opt.Events).Progress(task, done, total, "") }
	}
	others := gallery.N
	if opt.Self != nil {
		others--
	}
	if others < 1 {
		return fmt.Errorf("report: %s has one %s, want at least 2", m.Data, m.Unit)
	}
	var err error
	opt.Progress = progress("neighbors")
	if m.near, err = eval.Neighbors(m.ctx, m.eng, queries, gallery, m.s.metric, min(m.opt.Neighbors, others), opt); err != nil {
		return err
	}
	opt.Progress = progress("ranks")
	m.ranking, err = eval.Retrieve(m.ctx, m.eng, queries, gallery, m.s.metric, eval.RetrievalOptions{SearchOptions: opt, FirstOnly: true})
	return err
}

// nearest lists the rows nearest to a query, by its number among the queries.
func (m *maker) nearest(query int) (rows []int, distance []float64) {
	index, distance := m.near.Of(query)
	for _, i := range index {
		rows = append(rows, m.s.sides.GalleryRows[i])
	}
	return rows, distance
}

// Query is a query with its nearest neighbors.
type Query struct {
	Picture
	// FirstRank is the place of the first image of its class, from 1.
	FirstRank int        `json:"first_rank"`
	Nearest   []Neighbor `json:"nearest"`
}

// Neighbor is an image near a query.
type Neighbor struct {
	Picture
	Distance float64 `json:"distance"`
	Right    bool    `json:"right"` // of the query's class
}

// Picture is an image of the set.
type Picture struct {
	Row   int    `json:"row"`
	Path  string `json:"path"`
	Class string `json:"class"`
	URL   string `json:"-"` // the picture itself, small
}

// queries chooses the queries to look at: the hardest, and some at random.
func (m *maker) queries() error {
	pictures := &thumbnails{s: m.s}
	show := func(queries []int) (list []Query, err error) {
		for _, query := range queries {
			row := m.s.sides.QueryRows[query]
			q := Query{FirstRank: m.ranking.FirstRank[query]}
			if q.Picture, err = pictures.of(m.ctx, row); err != nil {
				return nil, err
			}
			rows, distance := m.nearest(query)
			for i, to := range rows {
				n := Neighbor{Distance: distance[i], Right: m.s.class(to) == m.s.class(row)}
				if n.Picture, err = pictures.of(m.ctx, to); err != nil {
					return nil, err
				}
				q.Nearest = append(q.Nearest, n)
			}
			list = append(list, q)
		}
		return list, nil
	}
	var err error
	if m.Hardest, err = show(m.ranking.Hardest(m.opt.Hardest)); err != nil {
		return err
	}
	m.Drawn, err = show(m.ranking.PickQueries(m.opt.Drawn, m.seed))
	return err
}

// Confusion says which classes are taken for which by the nearest neighbor.
type Confusion struct {
	Queries int `json:"queries"`
	Wrong   int `json:"wrong"`
	// Pairs are the most frequent, most frequent first.
	Pairs []ConfusedPair `json:"pairs"`
	// Matrix counts, for the classes of the first pairs, what row is taken for
	// column; the diagonal is right.
	Names  []string `json:"names"`
	Matrix [][]int  `json:"matrix"`
}

// ConfusedPair is a class whose images have another class's as the nearest.
type ConfusedPair struct {
	Class string  `json:"class"`
	For   string  `json:"taken_for"`
	Count int     `json:"count"`
	Of    int     `json:"of"` // images of Class
	From  Picture `json:"-"`
	To    Picture `json:"-"`
}

// ClassFigures are those of a class.
type ClassFigures struct {
	Class        string  `json:"class"`
	Images       int     `json:"images"`
	PrecisionAt1 float64 `json:"precision@1"`
	MRR          float64 `json:"mrr"`
}

// How many confused pairs, classes of the matrix and worst classes are shown.
const (
	shownPairs = 12
	matrixSide = 12
	shownWorst = 10
)

func (m *maker) confusions() error {
	type pair struct{ from, to int }
	counts, first := map[pair]int{}, map[pair]int{} // first is a query
	queries := m.s.sides.Queries
	c := &Confusion{Queries: queries.N}
	sizes := make([]int, len(m.s.classes))
	for query, label := range queries.Labels {
		sizes[label]++
		rows, _ := m.nearest(query)
		if len(rows) == 0 {
			continue
		}
		p := pair{label, m.s.rows.Labels[rows[0]]}
		if counts[p]++; counts[p] == 1 {
			first[p] = query
		}
		if p.from != p.to {
			c.Wrong++
		}
	}
	var pairs []pair
	for p := range counts {
		if p.from != p.to {
			pairs = append(pairs, p)
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(counts[b]-counts[a], a.from-b.from, a.to-b.to)
	})
	pictures := &thumbnails{s: m.s}
	for _, p := range pairs[:min(shownPairs, len(pairs))] {
		rows, _ := m.nearest(first[p])
		shown := ConfusedPair{Class: m.s.classes[p.from], For: m.s.classes[p.to], Count: counts[p], Of: sizes[p.from]}
		var err error
		if shown.From, err = pictures.of(m.ctx, m.s.sides.QueryRows[first[p]]); err != nil {
			return err
		}
		if shown.To, err = pictures.of(m.ctx, rows[0]); err != nil {
			return err
		}
		c.Pairs = append(c.Pairs, shown)
	}
	var side []int
	for _, p := range pairs {
		for _, class := range []int{p.from, p.to} {
			if len(side) < matrixSide && !slices.Contains(side, class) {
				side = append(side, class)
			}
		}
	}
	slices.Sort(side)
	for _, from := range side {
		c.Names = append(c.Names, m.s.classes[from])
		var row []int
		for _, to := range side {
			row = append(row, counts[pair{from, to}])
		}
		c.Matrix = append(c.Matrix, row)
	}
	m.Confusion = c
	m.worst()
	return nil
}

// worst lists the classes with the lowest precision at 1.
func (m *maker) worst() {
	labels, means, counts := m.ranking.PerClass()
	for i, l := range labels {
		if counts[i] > 0 {
			m.Worst = append(m.Worst, ClassFigures{m.s.classes[l], counts[i], means[i].PrecisionAt1, means[i].MRR})
		}
	}
	slices.SortStableFunc(m.Worst, func(a, b ClassFigures) int {
		return cmp.Or(cmp.Compare(a.PrecisionAt1, b.PrecisionAt1), cmp.Compare(a.MRR, b.MRR))
	})
	m.Worst = m.Worst[:min(shownWorst, len(m.Worst))]
}
