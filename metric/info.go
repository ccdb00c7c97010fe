package metric

// Info describes a family of metrics to a user.
type Info struct {
	Metric  Metric // with its default options
	Meaning string // one line
	Formula string
	Source  string
	Options []Option
}

// Option is what may stand after a metric's name and a colon.
type Option struct{ Name, Meaning, Default, Range string }

// Infos describes all families, in the order of Kind.
func Infos() []Info {
	hyperbolic := func(c, clip string) []Option {
		return []Option{
			{"c", "the space has curvature -c", c, "0 < c"},
			{"clip", "longer embeddings are taken at this length; 0 for none", clip, "0 <= clip"},
		}
	}
	return []Info{
		{
			Metric: Metric{Kind: BRM, P: 2}, Meaning: "boundary-restricted metric: no coordinate counts for more than B",
			Formula: "D = ((1/h) sum R(|a_i - b_i|)^p)^(1/p)", Source: "BRM Definition 1, Eq. 7, Table 1",
			Options: []Option{
				{"sigmoid, softsign, arctan, tanh, isru", "the restriction R", "sigmoid", "one of them"},
				{"p", "the norm", "2", "1 or 2"},
				{"omega", "of isru, t/sqrt(1 + omega t^2)", "1", "0 < omega"},
				{"power", "take D^p in place of D", "no", "present or not"},
			},
		},
		{Metric: Metric{Kind: Euclidean}, Meaning: "length of the difference", Formula: "D = |a - b|", Source: "Euclid"},
		{Metric: Metric{Kind: SquaredEuclidean}, Meaning: "its square", Formula: "D = |a - b|^2", Source: "Euclid"},
		{
			Metric: Metric{Kind: Manhattan}, Meaning: "sum of the differences of coordinates (L1): one far coordinate counts once, not squared",
			Formula: "D = sum |a_i - b_i|", Source: "Minkowski",
		},
		{Metric: Metric{Kind: Cosine}, Meaning: "cosine of the angle between embeddings", Formula: "S = a.b/(|a||b|)", Source: "Salton, Wong and Yang 1975"},
		{Metric: Metric{Kind: Dot}, Meaning: "scalar product", Formula: "S = a.b", Source: "linear classification"},
		{
			Metric: Metric{Kind: SignalToNoise}, Meaning: "variance of the noise b - a over that of the anchor a; not symmetric",
			Formula: "D = var(b - a)/var(a)", Source: "Yuan et al. 2019",
		},
		{
			Metric: defaultHyperbolic(Poincare), Meaning: "distance in the Poincare ball; suits classes that form a tree",
			Formula: "D = (2/sqrt(c)) artanh(sqrt(c)|-x (+) y|), x = tanh(sqrt(c)|a|) a/(sqrt(c)|a|)",
			Source:  "Khrulkov et al. 2020; Ermolov et al. 2022", Options: hyperbolic("0.1", "2.3"),
		},
		{
			Metric: defaultHyperbolic(Lorentz), Meaning: "the same space as a hyperboloid, without a rim",
			Formula: "D = acosh(-c <x,y>)/sqrt(c), x = (cosh(sqrt(c)|a|), sinh(sqrt(c)|a|) a/|a|)/sqrt(c)",
			Source:  "Nickel and Kiela 2018; Desai et al. 2023", Options: hyperbolic("1", "0"),
		},
	}
}
