package vernier_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLibrariesNameNoFlags keeps flags out of the texts of libraries, which name settings
// by their places; the command knows which flag is whose.
func TestLibrariesNameNoFlags(t *testing.T) {
	// What runs other programs, whose flags these are, or belongs to the command.
	exempt := []string{"cmd", "examples", "cuda/kernels/gen", "cuda/internal/native", "internal/bench", "internal/mpitest", ".git"}
	flag := regexp.MustCompile(`(^|[ (,"])--[a-z][a-z-]`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(exempt, filepath.ToSlash(path)) {
			return filepath.SkipDir
		}
		own := filepath.Dir(path) == "." // names the command's commands where no call does the same
		if d.IsDir() || own || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if s, err := strconv.Unquote(text.Value); err == nil && flag.MatchString(strings.ReplaceAll(s, "var(--", "var(")) && !strings.Contains(s, "<") { // var is of CSS
					t.Errorf("%s: %q names a flag", files.Position(text.Pos()), s)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
