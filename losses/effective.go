package losses

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/internal/registry"
)

// Effective returns every parameter that New would give the loss of that name,
// defaults included and margins as numbers in the unit of the loss, so that a
// run can say what it was made with. New takes the result back. Of a loss that Register
// added it returns the type of what New makes and its
// exported fields that are not zero.
func Effective(name string, o Options) (map[string]string, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("losses: %w", err)
	}
	if own, ok := registered.Get(name); ok {
		l, err := makeOwn(name, own, o)
		if err != nil {
			return nil, err
		}
		for v, ok := l.(*viewed); ok; v, ok = l.(*viewed) {
			l = v.loss
		}
		return registry.Fields(l), nil
	}
	rows := catalogue()
	i := slices.IndexFunc(rows, func(r constructor) bool { return r.name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown loss %q, want one of %s", name, strings.Join(Names(), ", "))
	}
	e := rows[i].make(o)
	v, err := readValues(e.settings, o.Params, yardstick{o.Metric, o.Scale, e.view})
	if err != nil {
		return nil, fmt.Errorf("loss %s on %v: %w", name, o.Metric, err)
	}
	all := make(map[string]string, len(e.settings))
	for _, s := range e.settings {
		switch x := v.at[s.name]; s.kind {
		case choice:
			all[s.name] = s.choices[int(x)]
		case toggle:
			all[s.name] = strconv.FormatBool(x != 0)
		default:
			all[s.name] = strconv.FormatFloat(x, 'g', -1, 64)
		}
	}
	return all, nil
}
