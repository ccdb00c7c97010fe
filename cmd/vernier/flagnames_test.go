package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/internal/setting"
)

// TestSettingsInMessagesAreFlags looks for every setting that a library names.
func TestSettingsInMessagesAreFlags(t *testing.T) {
	flags := newTrain(logrus.New()).Flags()
	named := regexp.MustCompile(`setting\.Name\("([^"]*)"\)`)
	seen := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			seen++
			flag, is := strings.CutPrefix(flagOf(setting.Name(m[1])), "--")
			if !is || flags.Lookup(flag) == nil {
				t.Errorf("%s names %s, which train has no flag for", path, m[1])
			}
		}
		return nil
	})
	if err != nil || seen < 20 {
		t.Errorf("%d names were seen (%v)", seen, err)
	}
	if got := program().ErrorText(setting.Errorf("lower %s: %w", setting.Name("optimizer.rate"), errors.New("x"))); got != "lower --rate: x" {
		t.Errorf("a user reads %q", got)
	}
}
