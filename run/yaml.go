package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
)

// Bounds of a YAML text, far above what a file of settings has.
const (
	maxYAML      = 1 << 20 // bytes
	maxYAMLNodes = 200_000 // with those that aliases stand for
	maxYAMLDepth = 100
)

// ParseYAML reads the one document of a YAML text (or JSON, which is YAML), with what
// its aliases stand for in their place. It is nil where the text is empty or nothing
// but comments. Keys that stand twice are errors, and so is what is beyond any file of
// settings: aliases that unfold without end, nesting, size. name is that of the text,
// for messages.
func ParseYAML(name string, text []byte) (*yaml.Node, error) {
	if len(text) > maxYAML {
		return nil, fmt.Errorf("%s has %d bytes: a file of settings has at most %d", name, len(text), maxYAML)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is a second YAML document behind a line ---, which would be ignored: join them, or make two files", name)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	u := &unfolder{name: name}
	return u.unfold(doc.Content[0], 0)
}

// unfolder copies nodes with what aliases stand for in their place.
type unfolder struct {
	name  string
	nodes int
}

func (u *unfolder) unfold(n *yaml.Node, depth int) (*yaml.Node, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch u.nodes++; {
	case depth > maxYAMLDepth:
		return nil, fmt.Errorf("%s:%d: values are nested more than %d levels deep, or an alias stands within what it names", u.name, n.Line, maxYAMLDepth)
	case u.nodes > maxYAMLNodes:
		return nil, fmt.Errorf("%s:%d: with what aliases stand for there are more than %d values", u.name, n.Line, maxYAMLNodes)
	}
	own := *n
	own.Anchor, own.Content = "", make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		var err error
		if own.Content[i], err = u.unfold(c, depth+1); err != nil {
			return nil, err
		}
	}
	return &own, u.keysOnce(&own)
}

// keysOnce refuses a key that stands twice in a group: one of the two values would be
// lost.
func (u *unfolder) keysOnce(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s:%d: a key is a list or a group; keys are words", u.name, key.Line)
		}
		if line, twice := seen[key.Value]; twice {
			return fmt.Errorf("%s:%d: %s is given twice (also at %s:%d)", u.name, key.Line, key.Value, u.name, line)
		}
		seen[key.Value] = key.Line
	}
	return nil
}
