package cli

import (
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
)

// AddConfig adds the settings of the YAML file that --config names; "" is none.
func AddConfig(s *run.Settings, path string) error {
	if path == "" {
		return nil
	}
	text, err := wholefile.Read(path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	return s.AddYAML(path, text)
}

// AddSet adds the settings of --set, each as KEY=VALUE.
func AddSet(s *run.Settings, texts []string) error {
	set, err := ParseSet(texts, "optimizer.rate=0.01")
	if err != nil {
		return err
	}
	return s.Add(set...)
}

// ParseSet reads the settings of --set, each as KEY=VALUE; the error about another text
// shows the example.
func ParseSet(texts []string, example string) ([]run.Setting, error) {
	var set []run.Setting
	for _, text := range texts {
		place, value, ok := strings.Cut(text, "=")
		if !ok || place == "" {
			return nil, fmt.Errorf("--set %q is not KEY=VALUE, as in %s", text, example)
		}
		set = append(set, run.Setting{Path: place, Value: value, Source: "--set " + place})
	}
	return set, nil
}
