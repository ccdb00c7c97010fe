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
	e    *run.Embedded
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
		m.distances,
		m.queries,
		m.classes,
		m.maps,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// search finds the neighbors of every row, and the rank of its first right one.
func (m *maker) search() error {
	x, metric := m.e.Embeddings, m.e.Model.Spec.Metric
	opt := eval.SearchOptions{Self: eval.LeaveOneOut(x.N), Workers: m.opt.Workers}
	progress := func(task string) func(done, total int) {
		return func(done, total int) { run.OrSilent(m.opt.Events).Progress(task, done, total, "") }
	}
	if x.N < 2 {
		return fmt.Errorf("report: %s has one image, want at least 2", m.Data)
	}
	var err error
	opt.Progress = progress("neighbors")
	if m.near, err = eval.Neighbors(m.ctx, m.eng, x, x, metric, min(m.opt.Neighbors, x.N-1), opt); err != nil {
		return err
	}
	opt.Progress = progress("ranks")
	m.ranking, err = eval.Retrieve(m.ctx, m.eng, x, x, metric, eval.RetrievalOptions{SearchOptions: opt, FirstOnly: true})
	return err
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
	pictures := &thumbnails{e: m.e}
	show := func(rows []int) (list []Query, err error) {
		for _, row := range rows {
			q := Query{FirstRank: m.ranking.FirstRank[row]}
			if q.Picture, err = pictures.of(m.ctx, row); err != nil {
				return nil, err
			}
			index, distance := m.near.Of(row)
			for i, to := range index {
				n := Neighbor{Distance: distance[i], Right: m.label(int(to)) == m.label(row)}
				if n.Picture, err = pictures.of(m.ctx, int(to)); err != nil {
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
	drawn := eval.PickQueries(m.e.Embeddings.Labels, m.opt.Drawn, m.seed)
	m.Drawn, err = show(drawn)
	return err
}

func (m *maker) label(row int) int { return m.e.Set.Items[row].Label }

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

func (m *maker) classes() error {
	type pair struct{ from, to int }
	counts, first := map[pair]int{}, map[pair]int{}
	c := &Confusion{Queries: m.e.Embeddings.N}
	for row := range m.e.Embeddings.N {
		index, _ := m.near.Of(row)
		p := pair{m.label(row), m.label(int(index[0]))}
		if counts[p]++; counts[p] == 1 {
			first[p] = row
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
	sizes := m.e.Set.ByClass()
	pictures := &thumbnails{e: m.e}
	for _, p := range pairs[:min(shownPairs, len(pairs))] {
		row := first[p]
		index, _ := m.near.Of(row)
		shown := ConfusedPair{Class: m.e.Set.Classes[p.from], For: m.e.Set.Classes[p.to], Count: counts[p], Of: len(sizes[p.from])}
		var err error
		if shown.From, err = pictures.of(m.ctx, row); err != nil {
			return err
		}
		if shown.To, err = pictures.of(m.ctx, int(index[0])); err != nil {
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
		c.Names = append(c.Names, m.e.Set.Classes[from])
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
			m.Worst = append(m.Worst, ClassFigures{m.e.Set.Classes[l], counts[i], means[i].PrecisionAt1, means[i].MRR})
		}
	}
	slices.SortStableFunc(m.Worst, func(a, b ClassFigures) int {
		return cmp.Or(cmp.Compare(a.PrecisionAt1, b.PrecisionAt1), cmp.Compare(a.MRR, b.MRR))
	})
	m.Worst = m.Worst[:min(shownWorst, len(m.Worst))]
}
