package vernier_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// documents returns the text of every page for readers, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			pages[filepath.ToSlash(name)] = string(text)
		}
	}
	return pages
}

func TestReadmeIsShort(t *testing.T) {
	lines := strings.Split(documents(t)["README.md"], "\n")
	if len(lines) > 151 { // the last one is empty
		t.Errorf("README.md has %d lines, want at most 150: move details to docs", len(lines)-1)
	}
	for i, line := range lines {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("README.md:%d has %d characters, want at most 100", i+1, n)
		}
	}
}

func TestReadmeCountsLossesMetricsAndNetworks(t *testing.T) {
	want := fmt.Sprintf("%d losses, %d metrics, %d networks", len(losses.Names()), len(metric.Infos()), len(backbone.Names())-1) // features is no network
	if !strings.Contains(documents(t)["README.md"], want) {
		t.Errorf("README.md does not say %q", want)
	}
}

// Links and pictures lead to files, and #anchors to headings in them. Every page of docs
// is in the index.
func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	pages := documents(t)
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|<img src="([^"]+)"`)
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	linked := map[string]bool{}
	for page, text := range pages {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to := m[1] + m[2]
			if strings.Contains(to, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(to, "#")
			target := page
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, to, err)
				continue
			}
			if page == "docs/README.md" {
				linked[target] = true
			}
			if anchor == "" {
				continue
			}
			var anchors []string
			for _, h := range heading.FindAllStringSubmatch(pages[target], -1) {
				anchors = append(anchors, anchorOf(h[1]))
			}
			if !slices.Contains(anchors, anchor) {
				t.Errorf("%s links to %s: %s has no such heading", page, to, target)
			}
		}
	}
	for page := range pages {
		if strings.HasPrefix(page, "docs/") && page != "docs/README.md" && !linked[page] {
			t.Errorf("docs/README.md, the index, does not link %s", page)
		}
	}
}

// anchorOf is the name that a heading has in links: lower case, hyphens for spaces,
// neither dots nor other marks.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(heading) {
		switch {
		case c == ' ':
			b.WriteByte('-')
		case c == '-' || c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Every module that is required directly, or run as a tool, has its reason, and no other.
func TestDependenciesHaveReasons(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{
		"go4.org/unsafe/assume-no-moving-gc": true, // imported by Gorgonia alone, in a release of our choice
		"honnef.co/go/tools":                 true, // a tool
	}
	direct := regexp.MustCompile(`(?m)^\s+(\S+) v\S+$`)
	for _, m := range direct.FindAllStringSubmatch(string(text), -1) {
		required[m[1]] = true
	}
	if len(required) < 10 {
		t.Fatalf("%d requirements were seen", len(required))
	}
	table, _, _ := strings.Cut(documents(t)["docs/dependencies.md"], "\n## ")
	row := regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \| (.*) \|$`)
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		if !required[m[1]] {
			t.Errorf("docs/dependencies.md has %s, which go.mod does not require", m[1])
		}
		delete(required, m[1])
	}
	for name := range required {
		t.Errorf("docs/dependencies.md says no reason for %s", name)
	}
}

// What .ci/run, the workflow and README call is the same command.
func TestTheTestCommandIsNamed(t *testing.T) {
	const command = "make test"
	for name, want := range map[string]string{"README.md": command, "CONTRIBUTING.md": command, ".ci/run": "step " + command, ".github/workflows/ci.yml": ".ci/run"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(text), want) {
			t.Errorf("%s does not name %q", name, want)
		}
	}
}

// The table of folders has a row for every package that is not internal, and no other.
func TestArchitectureNamesEveryFolder(t *testing.T) {
	_, text, _ := strings.Cut(documents(t)["docs/architecture.md"], "\n## Folders")
	text, _, _ = strings.Cut(text, "\n## ")
	named := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.Contains(cells[1], "`") {
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
				named[strings.TrimPrefix(m[1], ".")] = true
			}
		}
	}
	for folder := range mayImport {
		if !slices.Contains(strings.Split(folder, "/"), "internal") && !named[folder] {
			t.Errorf("docs/architecture.md has no row for %q, which the layout table has", folder)
		}
	}
	for folder := range named {
		if _, ok := mayImport[folder]; !ok {
			t.Errorf("docs/architecture.md has a row for %q, which the layout table has not", folder)
		}
	}
}

// Files, folders, tests and fuzz targets that the pages for programmers name are there.
func TestWhatProgrammersAreSentToIsThere(t *testing.T) {
	code := codeNames(t)
	quoted := regexp.MustCompile("`([^`\\s]+)`")
	for _, page := range []string{"CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md", "docs/gpu.md"} {
		for _, m := range quoted.FindAllStringSubmatch(documents(t)[page], -1) {
			name := m[1]
			switch {
			case regexp.MustCompile(`^(Test|Fuzz)[A-Z]\w+$`).MatchString(name):
				if !code[name] {
					t.Errorf("%s names %s, which no test file has", page, name)
				}
			case strings.HasSuffix(name, ".go") && !strings.Contains(name, "NAME"):
				if found, err := filepath.Glob(name); err != nil || len(found) == 0 {
					t.Errorf("%s names %s, which is not there", page, name)
				}
			}
		}
	}
}

// Whoever adds a fuzz target has a parser of strangers' bytes, which SECURITY.md lists.
func TestFuzzTargetsAreListed(t *testing.T) {
	text := documents(t)["SECURITY.md"]
	seen := 0
	for name := range codeNames(t) {
		if strings.HasPrefix(name, "Fuzz") {
			seen++
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("SECURITY.md does not list %s", name)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d fuzz targets were seen", seen)
	}
}

// Every environment variable that the code reads is explained on a page, but for those that a
// program or a test of ours sets for its own processes.
func TestEnvironmentVariablesAreExplained(t *testing.T) {
	own := regexp.MustCompile(`^VERNIER_(TEST_|MPI_TEST|GPU_|BENCH_PEER)`)
	var pages strings.Builder
	for _, text := range documents(t) {
		pages.WriteString(text)
	}
	read, seen := regexp.MustCompile(`"(VERNIER_[A-Z0-9_]+)"`), map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range read.FindAllStringSubmatch(string(text), -1) {
			seen[m[1]] = true
		}
		return err
	})
	if err != nil || !seen["VERNIER_GOLDEN"] {
		t.Fatalf("%v: %v", err, seen)
	}
	for name := range seen {
		if !own.MatchString(name) && !strings.Contains(pages.String(), "`"+name+"`") && !strings.Contains(pages.String(), name+"=") {
			t.Errorf("no page says what %s does", name)
		}
	}
}

// codeNames are the tests and fuzz targets of all packages.
func codeNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
