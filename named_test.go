package vernier_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The README and the help texts send readers to files, which have to be there.
func TestFilesThatReadersAreSentToAreThere(t *testing.T) {
	var sources []string
	for _, folder := range []string{"vernier", "vernier-papers", "internal/cli"} {
		files, err := filepath.Glob(filepath.Join("cmd", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		sources = append(sources, files...)
	}
	named := regexp.MustCompile(`\b(docs|bench)/[\w/-]+\.(md|yaml|py)\b`)
	seen := 0
	for _, source := range append(sources, "README.md") {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(text), -1) {
			seen++
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s names %s: %v", source, name, err)
			}
		}
	}
	if seen == 0 {
		t.Error("no names of files were found")
	}
}
