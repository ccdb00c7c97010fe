package linear

import (
	"context"
	"fmt"
	"sort"
	"strings"
)

// Learner is a method with its settings. The zero value of every learner in
// this package works with the method's usual defaults.
type Learner interface {
	// Name is the learner's name on the command line.
	Name() string
	// Fit learns a metric. It returns an error that says what is wrong with the
	// problem, and ctx's error if it ends first.
	Fit(ctx context.Context, p *Problem) (*Result, error)
}

// Env is what learners that draw at random or compute much are given beside
// their settings.
type Env struct {
	// Seed of everything random.
	Seed uint64
	// Engine, if set, computes large products and searches neighbors in
	// float32. nil means float64 on the host.
	Engine Engine
}

// constructors are the learners with their usual settings.
var constructors = map[string]func(Env) Learner{
	"euclidean":  func(Env) Learner { return Euclidean{} },
	"covariance": func(Env) Learner { return Covariance{} },
	"geigen":     func(e Env) Learner { return GEigen{Seed: e.Seed} },
	"lda":        func(Env) Learner { return LDA{} },
	"rca":        func(e Env) Learner { return RCA{} },
	"lfda":       func(Env) Learner { return LFDA{} },
	"gmml":       func(e Env) Learner { return GMML{Seed: e.Seed} },
	"nca":        func(e Env) Learner { return NCA{Seed: e.Seed, Engine: e.Engine} },
	"lmnn":       func(e Env) Learner { return LMNN{Seed: e.Seed, Engine: e.Engine} },
	"lmnn-convex": func(e Env) Learner {
		return ConvexLMNN{Seed: e.Seed, Engine: e.Engine}
	},
	"cap":      func(e Env) Learner { return CAP{Seed: e.Seed, Engine: e.Engine} },
	"itml":     func(e Env) Learner { return ITML{Seed: e.Seed} },
	"mmc":      func(e Env) Learner { return MMC{Seed: e.Seed} },
	"mmc-diag": func(e Env) Learner { return DiagonalMMC{Seed: e.Seed} },
	"lsml":     func(e Env) Learner { return LSML{Seed: e.Seed} },
	"sdml":     func(e Env) Learner { return SDML{Seed: e.Seed} },
	"odml":     func(e Env) Learner { return ODML{Seed: e.Seed} },
	"l1-ml":    func(e Env) Learner { return L1ML{Seed: e.Seed} },
	"lca":      func(e Env) Learner { return LCA{Seed: e.Seed} },
	"brm-c":    func(e Env) Learner { return BRMC{Stochastic: Stochastic{Env: e}} },
	"brm-r":    func(e Env) Learner { return BRMR{Stochastic: Stochastic{Env: e}} },
	"euclidean-c": func(e Env) Learner {
		return BRMC{Stochastic: Stochastic{Env: e, Unrestricted: true}}
	},
	"euclidean-r": func(e Env) Learner {
		return BRMR{Stochastic: Stochastic{Env: e, Unrestricted: true}}
	},
}

// Names lists the learners of New in alphabetical order.
func Names() []string {
	out := make([]string, 0, len(constructors))
	for name := range constructors {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// New returns the learner of that name with its usual settings. euclidean-c and
// euclidean-r are BRM-C and BRM-R without the restriction.
func New(name string, env Env) (Learner, error) {
	make, ok := constructors[name]
	if !ok {
		return nil, fmt.Errorf("unknown learner %q, want one of %s", name, strings.Join(Names(), ", "))
	}
	return make(env), nil
}

// fitting checks the problem and wraps errors with the learner's name.
func fitting(name string, p *Problem, fit func() (*Result, error)) (*Result, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r, err := fit()
	if err == nil {
		err = r.finite()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.Learner = name
	return r, nil
}
