package train

import (
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

func TestAFileOfARunIsNotItsFolder(t *testing.T) {
	s := begin(t, smallConfig(t, shades(t, 8, 4)))
	_, err := run.Open(s.folder.Path(run.CheckpointFile))
	if err == nil || !strings.Contains(err.Error(), "give the folder "+string(s.folder)) {
		t.Errorf("got %v", err)
	}
	if _, err := run.Open(string(s.folder)); err != nil {
		t.Error(err)
	}
}
