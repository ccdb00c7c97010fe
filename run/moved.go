package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// Moved returns a stored configuration with the places of its images and of the file
// that its weights came from as these settings give them: a run continues where its
// data were moved. The set stays of its kind, and Resume sees to it that the images
// are the same; of a weight file the digest must be that of the stored one, otherwise
// its place stays as it was, which Differences then reports.
func (s *Settings) Moved(stored Config) (Config, error) {
	all := layer{}
	for _, l := range s.layers {
		if err := all.put(l); err != nil {
			return stored, err
		}
	}
	given := stored
	for path, to := range map[string]*string{"data.spec": &given.Data.Spec, "weights.path": &given.Weights.Path} {
		if err := all.read(path, to); err != nil {
			return stored, err
		}
	}
	if given.Weights.Path == NoWeights || stored.Weights.SHA256 == "" {
		given.Weights.Path = stored.Weights.Path
	}
	if err := given.absolute(); err != nil {
		return stored, err
	}
	kind, _, _ := strings.Cut(stored.Data.Spec, ":")
	if now, _, _ := strings.Cut(given.Data.Spec, ":"); now == kind {
		stored.Data.Spec = given.Data.Spec
	}
	if path := given.Weights.Path; path != stored.Weights.Path {
		sum, err := wholefile.Digest(path)
		if err != nil {
			return stored, fmt.Errorf("weights.path: %w", err)
		}
		if sum == stored.Weights.SHA256 {
			stored.Weights.Path = path
		}
	}
	return stored, nil
}

// ExplainMissing says, where the place of a run's images is not there, how to name another.
func (c Config) ExplainMissing(err error) error {
	if _, path, ok := strings.Cut(c.Data.Spec, ":"); ok {
		if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
			return setting.Errorf("%w; if the images were moved, say where they are with %s", err, setting.Name("data.spec"))
		}
	}
	return err
}
