package losses

func tripletEntry(o Options) entry {
	y := raw(o)
	return entry{
		meaning: "every negative farther than every positive, by a margin",
		source:  "Schroff et al. 2015; BRM Eq. 3",
		settings: []setting{
			y.gap("margin", "by how much a negative must be farther than a positive", 0.1*y.unit()),
			oneOf("mining", "all triplets; by their gap; one a positive pair; one an anchor; by angle; drawn by chance",
				"all", "semihard", "hard", "nearest-semihard", "batch-hard", "easy-positive", "angular", "distance-weighted", "uniform"),
			whole("per-anchor", "most triplets of an anchor, drawn by chance; 0 means no limit (uniform: 1)", 0, 0, maxPerAnchor),
			whole("seed", "of the draws", 0, 0, 1<<32-1),
			yesNo("swap", "measure the negative from the positive where that is nearer", false),
			yesNo("smooth", "log(1 + exp x) in place of the hinge", false),
			reductionSetting(),
		},
		build: func(v values) (Loss, error) {
			t := &Triplet{Margin: v.real("margin"), Swap: v.on("swap"), Smooth: v.on("smooth"), Reduction: v.reduction()}
			var err error
			t.Window, t.Miner, err = tripletMining(o, v)
			return t, err
		},
	}
}

// paperMining returns the window or the miner of triplets that New makes by default,
// on cosines or on distances of unit vectors.
func paperMining(name string, similarity bool) (*Window, TripletMiner, error) {
	o := unitVectors(similarity)
	v, err := readValues(tripletEntry(o).settings, map[string]string{"mining": name}, yardstick{})
	if err != nil {
		return nil, nil, err
	}
	v.dim = 2 // a miner without a dimension fails before
	return tripletMining(o, v)
}

// paperMiner is the miner of paperMining.
func paperMiner[T TripletMiner](name string, similarity bool) (T, error) {
	_, miner, err := paperMining(name, similarity)
	if err != nil {
		var none T
		return none, err
	}
	return miner.(T), nil
}

// tripletMining turns the parameter into a window or a miner, neither for all
// triplets.
func tripletMining(o Options, v values) (*Window, TripletMiner, error) {
	seed, most := uint64(v.int("seed")), v.int("per-anchor")
	var window Window
	var miner TripletMiner
	switch v.word("mining") {
	case "all":
		if most == 0 {
			return nil, nil, nil
		}
		window = AllWithin(v.real("margin"))
	case "semihard":
		window = SemiHard(v.real("margin"))
	case "hard":
		window = Hard(v.real("margin"))
	case "nearest-semihard":
		miner = NearestSemiHard{}
	case "batch-hard":
		return nil, BatchHard{}, nil
	case "easy-positive":
		return nil, EasyHard{Positive: Easiest, Negative: JustBeyond}, nil
	case "angular":
		miner = AngularMiner{AboveDegrees: 20, Squared: AsSquared(o.Metric, o.Scale)}
	case "distance-weighted":
		dim, err := v.dimension()
		if err != nil {
			return nil, nil, err
		}
		miner = DistanceWeighted{Dim: dim, Nearest: 0.5, Farthest: 1.4, Sphere: AsSphere(o.Metric, o.Scale), Seed: seed}
	case "uniform":
		return nil, Uniform{PerAnchor: max(most, 1), Seed: seed}, nil
	}
	switch {
	case miner == nil && most == 0:
		return &window, nil, nil
	case miner == nil:
		miner = window
	}
	if most > 0 {
		miner = AtMost{Miner: miner, PerAnchor: most, Seed: seed}
	}
	return nil, miner, nil
}
