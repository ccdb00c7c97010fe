// House prints figures of the repository's state, each as it was at commit 28ed96c, before
// the house was put in order, and as it is now: who depends on the graph, how large folders and types are, which parsers of
// strangers' bytes have fuzz targets, and how many words of the text are to be avoided.
//
//	go run ./internal/house [FOLDER]
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// figure is a number that was counted, and what it was of.
type figure struct {
	name   string
	before string // at commit 28ed96c
	now    string
}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := run(root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string) error {
	h, err := survey(root)
	if err != nil {
		return err
	}
	deps, err := graphUsers(root)
	if err != nil {
		return err
	}
	folders, largest := h.largeFolders()
	types, methods := h.largeTypes()
	list := []figure{
		{"packages of eval, metric, gallery, linear, cpu, engine that depend on Gorgonia", "eval gallery linear", deps},
		{"lines of hand-written Go outside tests", before.lines, fmt.Sprint(h.lines)},
		{"folders with more than 45 files outside tests, but cpu and cuda", before.folders, folders},
		{"files outside tests of the largest such folder", before.largest, largest},
		{"types with more than 40 methods", before.types, types},
		{"methods of the largest", before.methods, methods},
		{"fuzz targets", before.fuzz, fmt.Sprint(len(h.fuzz))},
		{"British spellings", before.british, fmt.Sprint(h.british)},
		{"\"so many\", \"such\", \"the like\" for an argument that has no name", before.unnamed, fmt.Sprint(h.unnamed)},
	}
	width := 0
	for _, f := range list {
		width = max(width, len(f.name))
	}
	for _, f := range list {
		fmt.Printf("%-*s  %s -> %s\n", width, f.name, f.before, f.now)
	}
	fmt.Println("\nfuzz targets now:")
	for _, name := range h.fuzz {
		fmt.Println("  " + name)
	}
	return nil
}

// before holds what this program counted at commit 28ed96c.
var before = struct{ lines, folders, largest, types, methods, fuzz, british, unnamed string }{
	lines:   "90576",
	folders: "cmd/vernier (61), data (74), eval (60), layers (55), linear (47), losses (58), train (61)",
	largest: "74",
	types: "cuda.Engine (96), cuda.args (67), internal/conformance.suite (75), internal/cpu.Engine (114), " +
		"internal/cpu/gen.isa (96), internal/reference.Engine (66), layers.Graph (104), model.Model (44), train.Session (78)",
	methods: "114",
	fuzz:    "6",
	british: "1018",
	unnamed: "61",
}

// graphUsers lists the packages that must not depend on Gorgonia and do.
func graphUsers(root string) (string, error) {
	var users []string
	for _, pkg := range []string{"eval", "metric", "gallery", "linear", "cpu", "engine"} {
		if _, err := os.Stat(filepath.Join(root, pkg)); err != nil {
			continue
		}
		cmd := exec.Command("go", "list", "-deps", "./"+pkg)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("go list -deps ./%s: %w", pkg, err)
		}
		if strings.Contains(string(out), "gorgonia.org/") {
			users = append(users, pkg)
		}
	}
	if len(users) == 0 {
		return "none", nil
	}
	return strings.Join(users, " "), nil
}

// house is what is counted in the files.
type house struct {
	lines            int
	files            map[string]int // outside tests, by folder
	methods          map[string]int // by folder and type
	fuzz             []string
	british, unnamed int
}

var (
	british = regexp.MustCompile(`(?i)\b\w*(neighbour|centre|colour|grey|normalis|optimis|initialis|regularis|generalis|standardis|rasteris|recognis|favour|behaviour|labell|modell|licence)\w*`)
	unnamed = regexp.MustCompile(`(?i)\b(of|for|to|after|from|in|at|with|by|takes?|has|have|holds?) (so many|such)\b|\bthe like\b`)
)

func survey(root string) (*house, error) {
	h := &house{files: map[string]int{}, methods: map[string]int{}}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "dist" || name == "runs" || name == "house") {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".go":
			return h.goFile(root, path)
		case ".md", ".yaml":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h.words(string(text))
		}
		return nil
	})
	slices.Sort(h.fuzz)
	return h, err
}

func (h *house) words(text string) {
	h.british += len(british.FindAllString(text, -1))
	h.unnamed += len(unnamed.FindAllString(text, -1))
}

func (h *house) goFile(root, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	folder, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	h.words(string(text))
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	test := strings.HasSuffix(path, "_test.go")
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		switch {
		case !ok:
		case test && strings.HasPrefix(f.Name.Name, "Fuzz"):
			h.fuzz = append(h.fuzz, folder+" "+f.Name.Name)
		case !test && f.Recv != nil:
			h.methods[folder+"."+receiver(f.Recv.List[0].Type)]++
		}
	}
	if test {
		return nil
	}
	h.files[folder]++
	if ast.IsGenerated(file) {
		return nil
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		h.lines++
	}
	return nil
}

func receiver(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

func (h *house) largeFolders() (names, largest string) {
	var large []string
	top := 0
	for folder, n := range h.files {
		if folder == "cpu" || folder == "internal/cpu" || folder == "cuda" {
			continue
		}
		top = max(top, n)
		if n > 45 {
			large = append(large, fmt.Sprintf("%s (%d)", folder, n))
		}
	}
	return list(large), fmt.Sprint(top)
}

func (h *house) largeTypes() (names, largest string) {
	var large []string
	top := 0
	for name, n := range h.methods {
		top = max(top, n)
		if n > 40 {
			large = append(large, fmt.Sprintf("%s (%d)", name, n))
		}
	}
	return list(large), fmt.Sprint(top)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
