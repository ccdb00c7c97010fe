package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/sums"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// keepSums takes over the checksums of files that are exported already: those that
// are not replaced keep theirs.
func keepSums(from, to string) error {
	text, err := wholefile.Read(filepath.Join(from, sums.FolderFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return wholefile.WriteBytes(filepath.Join(to, sums.FolderFile), text)
}

// exported is what tells exports apart, of what gallery.DescriptionFile says.
type exported struct {
	Model string `json:"model"`
	Data  string `json:"data"`
	Rows  int    `json:"rows"`
}

// exportedIn reads it in a folder; ok is false where there is none.
func exportedIn(dir string) (x exported, ok bool, err error) {
	path := filepath.Join(dir, gallery.DescriptionFile)
	text, err := wholefile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return x, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &x)
	}
	if err != nil {
		return x, false, fmt.Errorf("%s: %w", path, err)
	}
	return x, true, nil
}

// networkFiles do not depend on the rows beside them.
var networkFiles = []string{"model.safetensors", "network.npz", "network.onnx", "metric.onnx"}

// checkMixture refuses to put new rows beside those of another export, which would be
// described by the same files and taken for the new model's.
func checkMixture(stage, out string) error {
	now, rows, err := exportedIn(stage)
	if err != nil || !rows {
		return err
	}
	was, before, err := exportedIn(out)
	if err != nil || !before || was == now {
		return err
	}
	list, err := sums.Read(filepath.Join(out, sums.FolderFile))
	if err != nil {
		return err
	}
	stale := slices.DeleteFunc(list.Names(), func(name string) bool {
		_, there := os.Stat(filepath.Join(out, name))
		_, replaced := os.Stat(filepath.Join(stage, name))
		return there != nil || replaced == nil || was.Model == now.Model && slices.Contains(networkFiles, name)
	})
	if len(stale) == 0 {
		return nil
	}
	what := "model"
	if was.Model == now.Model {
		what = fmt.Sprintf("set of images (%s, %d of them; now %s, %d)", was.Data, was.Rows, now.Data, now.Rows)
	}
	return fmt.Errorf("folder %s would keep %s, which are of another %s: remove them, write their formats too, or take another --out", out, strings.Join(stale, ", "), what)
}
