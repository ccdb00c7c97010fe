package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/optim"
)

// checkConstants refuses a constant that is given to an optimizer without it. Its
// default may stand there, as every stored configuration names them all, or 0.
func (c Config) checkConstants(given layer) error {
	usual := Config{Optimizer: optim.Default()}.Values()
	with := optim.NamesWith()
	for _, constant := range slices.Sorted(maps.Keys(with)) {
		place := "optimizer." + constant
		value := c.Values()[place]
		if _, ok := given[place]; !ok || slices.Contains(with[constant], c.Optimizer.Name) || value == usual[place] || value == "0" {
			continue
		}
		return fmt.Errorf("optimizer %s has no %s; %s", c.Optimizer.Name, constant, has(with[constant]))
	}
	return nil
}

// has says who has something.
func has(names []string) string {
	if len(names) == 1 {
		return names[0] + " has"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " have"
}
