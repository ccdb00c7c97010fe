package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/optim"
)

// NoWeights, as a path of weights, says that a network is to be drawn although
// its preset starts from a file.
const NoWeights = "none"

// put lays a layer over the values so far. What a value below only made sense
// with goes: the parameters of another loss, the pictures of another network.
func (l layer) put(over layer) error {
	if err := l.changeLoss(over); err != nil {
		return err
	}
	if err := l.changeBackbone(over); err != nil {
		return err
	}
	if err := l.changeSize(over); err != nil {
		return err
	}
	if err := l.changeSchedule(over); err != nil {
		return err
	}
	if err := l.changeOptimizer(over); err != nil {
		return err
	}
	l.changeLength(over)
	maps.Copy(l, over)
	return nil
}

func (l layer) changeLoss(over layer) error {
	before := Default("").Loss.Name
	if err := l.read("loss.name", &before); err != nil {
		return err
	}
	after := before
	if err := over.read("loss.name", &after); err != nil {
		return err
	}
	if after != before {
		l.drop("loss.params.", "loss.effective.")
	}
	return nil
}

// changeSchedule drops the settings of another kind of schedule.
func (l layer) changeSchedule(over layer) error {
	before := Default("").Schedule.Name
	if err := l.read("schedule.name", &before); err != nil {
		return err
	}
	after := before
	if err := over.read("schedule.name", &after); err != nil {
		return err
	}
	if after != before {
		l.drop("schedule.every", "schedule.milestones", "schedule.gamma", "schedule.unit")
	}
	return nil
}

// changeOptimizer drops the constants that another optimizer has no use for.
func (l layer) changeOptimizer(over layer) error {
	before := optim.Default().Name
	if err := l.read("optimizer.name", &before); err != nil {
		return err
	}
	after := before
	if err := over.read("optimizer.name", &after); err != nil || after == before {
		return err
	}
	for constant, of := range optim.NamesWith() {
		if !slices.Contains(of, after) {
			l.drop("optimizer." + constant)
		}
	}
	return nil
}

// changeLength drops a number of steps, which would win, where a number of epochs
// is given over it.
func (l layer) changeLength(over layer) {
	_, epochs := over["epochs"]
	if _, steps := over["steps"]; epochs && !steps {
		l.drop("steps")
	}
}

func (l layer) changeBackbone(over layer) error {
	before := Default("").Model.Backbone
	if err := l.read("model.backbone", &before); err != nil {
		return err
	}
	after := before
	if err := over.read("model.backbone", &after); err != nil {
		return err
	}
	if after == before {
		return nil
	}
	was, err := backbone.New(before)
	if err != nil {
		return err
	}
	is, err := backbone.New(after)
	if err != nil {
		return fmt.Errorf("%s: %w", over["model.backbone"].source, err)
	}
	if was.Preprocessing() != is.Preprocessing() {
		l.drop("model.input.")
	}
	if was.Tokens() != is.Tokens() {
		l.drop("model.pool", "model.flow")
	}
	if _, ok := backbone.Attention(is); !ok {
		l.drop("model.lora.")
	}
	if !backbone.DropsPaths(is) {
		l.drop("model.drop_path")
	}
	if nameOf(before) != nameOf(after) {
		l.drop("freeze.params", "freeze.to", "weights.")
	}
	return nil
}

// nameOf is a backbone without its options.
func nameOf(spec string) string {
	name, _, _ := strings.Cut(spec, ":")
	return name
}

// changeSize brings the shorter side of a lower layer to another size in
// proportion.
func (l layer) changeSize(over layer) error {
	if _, ok := over["model.input.resize"]; ok {
		return nil
	}
	var size, was, resize int
	for _, v := range []struct {
		from layer
		path string
		to   *int
	}{{over, "model.input.size", &size}, {l, "model.input.size", &was}, {l, "model.input.resize", &resize}} {
		if err := v.from.read(v.path, v.to); err != nil {
			return err
		}
	}
	if size < 1 || was < 1 || resize < 1 {
		return nil
	}
	g := l["model.input.resize"]
	l["model.input.resize"] = given{&yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint((resize*size + was/2) / was), Line: g.node.Line}, g.source}
	return nil
}

// drop removes the values at places that begin so.
func (l layer) drop(prefixes ...string) {
	for path := range l {
		for _, p := range prefixes {
			if strings.HasPrefix(path, p) {
				delete(l, path)
			}
		}
	}
}

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
