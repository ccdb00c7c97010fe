package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/layers/links"
	"github.com/vernier-ml/vernier/metric"
)

// Levels makes embeddings of several blocks of a network, with how certain each unit is and
// with links between them (Zhang et al. 2022, AVSL). With L blocks and h units a level an
// embedding has Spec.Dim = 2 L h numbers: the rows of all levels, each of length 1, and then the
// certainties of all. Spec.Metric is metric.Links. The zero value is none.
type Levels struct {
	// Blocks are the names of two blocks or more, from the lowest on, with commas between. The
	// last is that at which the network ends.
	Blocks string `json:"blocks"`
	// Keep is the number of units of a level that a unit of the next is made of.
	Keep int `json:"keep"`
	// Gamma is how steeply the certainty of two images decides for a unit itself or for what
	// it is made of.
	Gamma float64 `json:"gamma"`
}

// linkMomentum is the share by which a batch moves the links.
const linkMomentum = 0.5

// names are the blocks.
func (l Levels) names() []string {
	if l.Blocks == "" {
		return nil
	}
	return strings.Split(l.Blocks, ",")
}

// validateLevels checks levels and what goes with them.
func (s Spec) validateLevels(net backbone.Backbone) error {
	names := s.Levels.names()
	links := s.Metric.Kind == metric.Links
	if len(names) == 0 {
		if links {
			return fmt.Errorf("metric %v is that of a model with levels, and this one has none", s.Metric)
		}
		if s.Levels != (Levels{}) {
			return errors.New("levels need the names of their blocks")
		}
		return nil
	}
	_, rows := backbone.TakesRows(net)
	switch {
	case rows || net.Tokens():
		return fmt.Errorf("levels are of the maps of a convolutional network, backbone %s has none", s.Backbone)
	case len(names) < 2:
		return fmt.Errorf("levels %q name one block: want two or more", s.Levels.Blocks)
	case !links:
		return fmt.Errorf("a model with levels is compared along its links: its metric is %v, not %v", metric.Metric{Kind: metric.Links}, s.Metric)
	case s.Dim%(2*len(names)) != 0:
		return fmt.Errorf("an embedding of %d levels is a row and a certainty for each, all of one length: %d numbers are not a multiple of %d", len(names), s.Dim, 2*len(names))
	case s.Levels.Keep < 1 || !(s.Levels.Gamma > 0):
		return fmt.Errorf("levels keep %d links with a gamma of %v: want 1 or more, and above 0", s.Levels.Keep, s.Levels.Gamma)
	case s.Pool != PoolAvgMax || s.Head != HeadLinear || s.HeadNorm != HeadNormNone || s.Dropout != 0:
		return fmt.Errorf("levels have pooling %q and a linear head each, without normalization and dropout", PoolAvgMax)
	case s.Normalization != NormNone || s.Scaling != ScaleFixed:
		return fmt.Errorf("levels bring their rows to length 1 by themselves: want normalization %q and a fixed scale", NormNone)
	case s.Flow != "" || s.Projection != "" || s.Input.Crops > 0:
		return errors.New("levels go with neither geometry flow nor a projection nor crops of an image")
	}
	last := -1
	for _, name := range names {
		full, err := backbone.FindBlock(net, name)
		if err != nil {
			return fmt.Errorf("levels: %w", err)
		}
		at := slices.Index(net.Blocks(), full)
		if at <= last {
			return fmt.Errorf("levels %q are not in the order of the network: %s does not come behind the one before it", s.Levels.Blocks, name)
		}
		last = at
	}
	if end := len(net.Blocks()) - 1; last != end {
		return fmt.Errorf("the last level is where the network ends, at %s, not at %s", net.Blocks()[end], names[len(names)-1])
	}
	return nil
}

// level is the prefix of the names of a level's parameters, from 1.
func level(i int) string { return fmt.Sprintf("%slevel%d", headPrefix, i) }

// linkParams makes the tables between levels and the learned numbers of all but the first.
func (m *Model) linkParams(h int) (tables, a, b []*layers.Param, err error) {
	for i := 2; i <= len(m.Spec.Levels.names()); i++ {
		for _, p := range []struct {
			to    *[]*layers.Param
			name  string
			role  layers.Role
			start float32
			shape []int
		}{
			{&tables, ".links", layers.Buffer, 0, []int{h, h}}, {&a, ".certainty", layers.Proxy, 1, []int{h}}, {&b, ".bias_of_links", layers.Proxy, 0, []int{h}},
		} {
			made, err := m.Params.Add(level(i)+p.name, layers.Head, p.role, layers.Constant(p.start), p.shape...)
			if err != nil {
				return nil, nil, nil, err
			}
			*p.to = append(*p.to, made)
		}
	}
	return tables, a, b, nil
}

// units is h, the length of a level's row.
func (m *Model) units() int { return m.Spec.Dim / (2 * len(m.Spec.Levels.names())) }

// levels adds the network with its levels and returns rows of Spec.Dim numbers. In training the
// links follow the batch.
func (m *Model) levels(g *layers.Graph, x *layers.Node, mode backbone.Mode, training bool) *layers.Node {
	h := m.units()
	tables, _, _, err := m.linkParams(h)
	if err != nil {
		g.Fail("levels", err)
		return nil
	}
	var rows, certainties, maps, biases []*layers.Node
	for i, name := range m.Spec.Levels.names() {
		full, err := backbone.FindBlock(m.net, name)
		if err != nil {
			g.Fail("levels", err)
			return nil
		}
		mode.To = full
		if x = m.net.Forward(g, x, mode); x == nil {
			return nil
		}
		mode.From = full
		row, certainty, units, bias := m.level(g, level(i+1), x, h)
		rows, certainties, maps, biases = append(rows, row), append(certainties, certainty), append(maps, units), append(biases, bias)
	}
	for i, p := range tables {
		if !training || g.Err() != nil {
			break
		}
		restore := g.In(layers.Head)
		table := g.Param(p.Name, p.Role, layers.Constant(0), p.Value.Shape()...)
		restore()
		follow := links.Link{Momentum: linkMomentum, Store: func(v []float32) error { return g.Engine().Write(p.Value, v) }}
		g.Detach(g.HostOp(level(i+2)+".follow", follow, maps[i], biases[i], maps[i+1], biases[i+1], table))
	}
	return g.Concat(headPrefix+"levels", append(rows, certainties...)...)
}

// level adds what a level makes of a map x (B, C, H, W): rows (B, h) of length 1, certainties
// (B, h), and the maps (B, h, H, W) of its units without their bias. The last three are constants.
func (m *Model) level(g *layers.Graph, name string, x *layers.Node, h int) (row, certainty, units, bias *layers.Node) {
	if g.Err() != nil {
		return nil, nil, nil, nil
	}
	defer g.In(layers.Head)()
	c := x.Shape()[1]
	w := g.Param(name+".weight", layers.Weight, layers.HeNormal(h), h, c)
	bias = g.Param(name+".bias", layers.Bias, layers.Constant(0), h)
	row = g.Linear(name, m.Spec.pool(g, x), w, bias)
	row = g.RowNorm(name+".rows", row, links.Unit())
	kernel := g.Detach(g.HostOp(name+".kernel", links.Kernel{}, w))
	units = g.Conv(name+".maps", g.Detach(g.HostOp(name+".peaks", links.Peaks{}, x)), kernel, nil, engine.SquareConv(1, 1, 0))
	return row, g.HostOp(name+".certainties", links.Certainty{}, units), units, bias
}

// HasLevels reports whether a model is compared along links.
func (m *Model) HasLevels() bool { return m.Spec.Levels != Levels{} }

// LinkNodes puts tables of links and learned numbers of a model with levels into a graph.
func (m *Model) LinkNodes(g *layers.Graph) (tables, a, b []*layers.Node) {
	t, as, bs, err := m.linkParams(m.units())
	if err != nil {
		g.Fail("levels", err)
		return nil, nil, nil
	}
	defer g.In(layers.Head)()
	for i := range t {
		for to, p := range map[*[]*layers.Node]*layers.Param{&tables: t[i], &a: as[i], &b: bs[i]} {
			*to = append(*to, g.Param(p.Name, p.Role, layers.Constant(0), p.Value.Shape()...))
		}
	}
	return tables, a, b
}

// Links returns what compares rows of a model with levels as it is now; nil for other models.
func (m *Model) Links() (*links.Graph, error) {
	if !m.HasLevels() {
		return nil, nil
	}
	h := m.units()
	tables, a, b, err := m.linkParams(h)
	if err != nil {
		return nil, err
	}
	l := &links.Graph{Levels: len(tables) + 1, H: h, Gamma: m.Spec.Levels.Gamma}
	for i := range tables {
		var host [3][]float32
		for k, p := range []*layers.Param{tables[i], a[i], b[i]} {
			host[k] = make([]float32, p.Value.Size())
			if err := m.Params.Engine().Read(host[k], p.Value); err != nil {
				return nil, fmt.Errorf("reading %s: %w", p.Name, err)
			}
		}
		l.Edges = append(l.Edges, links.Edges(host[0], h, m.Spec.Levels.Keep))
		l.A, l.B = append(l.A, host[1]), append(l.B, host[2])
	}
	return l, l.Check()
}

// Distances returns a function that sets dst[j] to what the model's metric says of a row and row
// j of rows.
func (m *Model) Distances() (func(dst []float64, row, rows []float32), error) {
	l, err := m.Links()
	if err != nil {
		return nil, err
	}
	if l != nil {
		return l.Row, nil
	}
	return func(dst []float64, row, rows []float32) {
		for j := range dst {
			dst[j] = m.Spec.Metric.Value(row, rows[j*len(row):(j+1)*len(row)])
		}
	}, nil
}
