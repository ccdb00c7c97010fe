package losses

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/vernier-ml/vernier/internal/registry"
)

// registered holds the losses of a program's own by name.
var registered registry.Table[func(Options) (Loss, error)]

// Register makes a loss of a program's own known by a name, under which the settings of
// a run, New and MakeTerm find it like those of this package. A program that resumes
// the run registers the loss again before it does so. A miner of a program's own comes
// with the loss that it is a field of:
//
//	losses.Register("triplet-mine", func(o losses.Options) (losses.Loss, error) {
//		return &losses.Triplet{Margin: 0.1, Miner: miner{}}, nil
//	})
//
// make returns a new loss in each call, with nothing in it that depends on what happened
// before: New is called anew for each part of a run. It reads o.Params, if the loss
// has parameters, and refuses what it does not know. Where the loss is written in
// another unit than the metric's own, make returns it behind a view (On).
//
// Names have lower-case letters, digits and hyphens. Register panics where the name is
// malformed or taken, or make is nil. It may be called by several goroutines.
func Register(name string, make func(o Options) (Loss, error)) {
	if make == nil {
		panic(fmt.Sprintf("losses.Register: the function that makes %q is nil", name))
	}
	registered.Add("losses.Register", name, make, slices.Concat(builtIn(), termNames()))
}

func makeOwn(name string, own func(Options) (Loss, error), o Options) (Loss, error) {
	l, err := own(o)
	if err == nil && isNil(l) {
		err = errors.New("the function that was registered returned no loss")
	}
	if err == nil {
		err = checkLoss(l, o.Metric.Similarity())
	}
	if err != nil {
		return nil, fmt.Errorf("loss %s on %v: %w", name, o.Metric, err)
	}
	return l, nil
}

func isNil(l Loss) bool {
	v := reflect.ValueOf(l)
	return l == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// listOwn describes the losses that Register added. Those that cannot be made on the
// metric are listed all the same.
func listOwn(o Options) []Info {
	o.Classes, o.Dim = 2, 2
	var infos []Info
	for _, name := range registered.Names() {
		info := Info{Name: name, Meaning: "registered by this program"}
		if l, err := New(name, o); err == nil {
			info.Columns = l.Columns()
		}
		infos = append(infos, info)
	}
	return infos
}
