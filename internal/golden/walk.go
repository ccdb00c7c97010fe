package golden

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"
)

// Variable names the environment variable that may point to a second folder of
// families, in the same format.
const Variable = "VERNIER_GOLDEN"

// Walk runs fn in one subtest for every testdata/golden/<family>/*.json of the
// package under test, then for every $VERNIER_GOLDEN/<family>/*.json. A folder
// without files fails the test.
func Walk(t *testing.T, family string, fn func(t *testing.T, c *Case)) {
	t.Helper()
	dir := filepath.Join("testdata", "golden")
	walk(t, os.DirFS(dir), dir, "golden", family, fn)
	walkVariable(t, family, fn)
}

// WalkFS is Walk with the files <family>/*.json of fsys in place of testdata,
// for tests that run where there is no source tree.
func WalkFS(t *testing.T, fsys fs.FS, family string, fn func(t *testing.T, c *Case)) {
	t.Helper()
	walk(t, fsys, "", "golden", family, fn)
	walkVariable(t, family, fn)
}

func walkVariable(t *testing.T, family string, fn func(t *testing.T, c *Case)) {
	t.Helper()
	root := os.Getenv(Variable)
	if root == "" {
		return
	}
	if _, err := os.Stat(root); err != nil {
		t.Errorf("%s: %v", Variable, err)
		return
	}
	if _, err := os.Stat(filepath.Join(root, family)); os.IsNotExist(err) {
		t.Logf("%s=%s has no family %s", Variable, root, family)
		return
	}
	walk(t, os.DirFS(root), root, Variable, family, fn)
}

func walk(t *testing.T, fsys fs.FS, dir, label, family string, fn func(t *testing.T, c *Case)) {
	t.Helper()
	names, err := list(fsys, family)
	if err != nil {
		t.Errorf("golden files of family %q in %q: %v", family, dir, err)
		return
	}
	for _, name := range names {
		t.Run(label+"/"+path.Base(name), func(t *testing.T) {
			text, err := fs.ReadFile(fsys, name)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Decode(filepath.Join(dir, filepath.FromSlash(name)), text)
			if err != nil {
				t.Fatal(err)
			}
			if c.Family != family {
				t.Fatalf("%s: family is %q, the folder's is %q", c.Path, c.Family, family)
			}
			fn(t, c)
		})
	}
}

// list returns the sorted case files of a family, at least one.
func list(fsys fs.FS, family string) ([]string, error) {
	names, err := fs.Glob(fsys, path.Join(family, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no file %s/*.json", family)
	}
	return names, nil
}
