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
	var set []run.Setting
	for _, text := range texts {
		place, value, ok := strings.Cut(text, "=")
		if !ok || place == "" {
			return fmt.Errorf("--set %q is not KEY=VALUE, as in optimizer.rate=0.01", text)
		}
		set = append(set, run.Setting{Path: place, Value: value, Source: "--set " + place})
	}
	return s.Add(set...)
}
