package losses

// MultiSimilarity weighs each pair of an anchor by itself and by the anchor's
// other pairs (Wang et al. 2019, Eq. 16). With similarities s,
//
//	1/Alpha log(1 + sum over p of exp(-Alpha*(s(a,p) - Base)))
//	+ 1/Beta log(1 + sum over q of exp(Beta*(s(a,q) - Base)))
//
// mean over all rows, also those without pairs. Without Miner, where another field
// is set, all pairs take part; the paper's own is MultiSimilarityMiner.
//
// The zero value has the authors' Alpha 2, Beta 40 and Base 0.5 on cosines, and
// their miner, which is the zero value of MultiSimilarityMiner.
type MultiSimilarity struct {
	Alpha, Beta, Base float64
	Miner             PairMiner

	paper    paper
	pos, neg []int
	mined    Pairs
	logits   []float64
	values   []float64 // of rows
}

// Columns is Batch.
func (*MultiSimilarity) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are rows.
func (l *MultiSimilarity) Eval(m *Matrix, grad []float64) (Result, error) {
	return evaluate(l, m, grad)
}

func (l *MultiSimilarity) byRows() bool {
	_, own := l.Miner.(MultiSimilarityMiner)
	return l.Miner == nil || own
}

func (l *MultiSimilarity) about() about {
	return about{"multi-similarity", multiSimilarityEntry, &l.paper}
}

func (l *MultiSimilarity) fields(f *fields) {
	f.positive("Alpha", l.Alpha)
	f.positive("Beta", l.Beta)
	f.number("Base", l.Base)
	f.miner("Miner", l.Miner)
}

func (l *MultiSimilarity) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("multi-similarity", grad); err != nil {
		return Result{}, err
	}
	zero(grad)
	if l.Miner != nil {
		if err := l.Miner.Mine(m, &l.mined); err != nil {
			return Result{}, err
		}
		if err := l.mined.check(m); err != nil {
			return Result{}, err
		}
	}
	r := Result{Total: m.Rows}
	l.values = grow(l.values, m.Rows)
	p, q := 0, 0 // where the anchor's mined pairs begin
	for a := range m.Rows {
		if l.Miner == nil {
			l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		} else {
			l.pos, l.neg = l.pos[:0], l.neg[:0]
			for ; p < len(l.mined.PosAnchor) && l.mined.PosAnchor[p] == a; p++ {
				l.pos = append(l.pos, l.mined.Positive[p])
			}
			for ; q < len(l.mined.NegAnchor) && l.mined.NegAnchor[q] == a; q++ {
				l.neg = append(l.neg, l.mined.Negative[q])
			}
		}
		if len(l.pos)+len(l.neg) > 0 {
			r.Active++
		}
		v, g := m.row(m.V, a), m.row(grad, a)
		l.values[a] = l.side(v, g, l.pos, l.Alpha*m.Away())/l.Alpha + l.side(v, g, l.neg, -l.Beta*m.Away())/l.Beta
	}
	r.count(m)
	r.Value = m.sum(l.values)
	return r.mean(grad), nil
}

// side returns log(1 + sum exp(scale*(v - Base))) over some columns and sets
// their gradient of it, divided by |scale|.
func (l *MultiSimilarity) side(v, g []float64, columns []int, scale float64) float64 {
	if len(columns) == 0 {
		return 0
	}
	l.logits = grow(l.logits, len(columns)+1)
	for k, j := range columns {
		l.logits[k] = scale * (v[j] - l.Base)
	}
	l.logits[len(columns)] = 0
	value := logSumExp(l.logits)
	for k, j := range columns {
		g[j] = l.logits[k]
		if scale < 0 {
			g[j] = -g[j]
		}
	}
	return value
}

func multiSimilarityEntry(o Options) entry {
	y := onSimilarity(o)
	return entry{
		meaning: "pairs weighed by themselves and by their anchor's other pairs, easy ones left out",
		source:  "Wang et al. 2019, Eq. 16; constants of the authors' code",
		view:    y.view,
		settings: []setting{
			positive("alpha", "scale of positive pairs", 2),
			positive("beta", "scale of negative pairs", 40),
			y.level("base", "similarity at which a pair has weight one half", 0.5),
			oneOf("mining", "leave out pairs that are easier than the anchor's hardest of the other kind, or none", "hardest", "none"),
			between("epsilon", "slack of the mining", 0.1, 0, 2, false, false),
			oneOf("duplicates", "leave out positives within 1e-5 of the anchor, as the authors do, or keep them", "drop", "keep"),
		},
		build: func(v values) (Loss, error) {
			l := &MultiSimilarity{Alpha: v.real("alpha"), Beta: v.real("beta"), Base: v.real("base")}
			drop := 0.0
			if v.word("duplicates") == "drop" {
				drop = 1e-5
			}
			if v.word("mining") == "hardest" {
				l.Miner = MultiSimilarityMiner{Epsilon: v.real("epsilon"), Duplicate: drop, asSet: true}
			} else if drop > 0 {
				l.Miner = MultiSimilarityMiner{All: true, Duplicate: drop}
			}
			return l, nil
		},
	}
}
