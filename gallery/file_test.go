package gallery_test

import (
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/storetest"
)

func TestAFileIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Open {
		path := filepath.Join(t.TempDir(), "g.index")
		return func(info gallery.Info) (gallery.Store, error) { return gallery.OpenFile(path, info, nil) }
	})
}
