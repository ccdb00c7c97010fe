package vernier_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamplesWorkOutsideTheModule builds the programs of examples in a module of
// their own, as anybody's program is built: without what is internal, and here without
// the network. Then it runs each.
func TestExamplesWorkOutsideTheModule(t *testing.T) {
	runs := map[string]func(*testing.T, program){
		"embed": runEmbedExample, "train": runTrainExample, "customloss": runCustomLossExample,
		"customdata": runCustomDataExample, "custombackbone": runCustomBackboneExample,
	}
	programs := buildOutside(t, "examples")
	for name := range programs {
		if runs[name] == nil {
			t.Errorf("examples/%s is built, but not run: give it a function in this test", name)
		}
	}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			p, ok := programs[name]
			if !ok {
				t.Fatalf("there is no examples/%s/main.go", name)
			}
			run(t, p)
		})
	}
}

// An image of the index is its own nearest.
func runEmbedExample(t *testing.T, p program) {
	folder := makeBirds()
	t.Cleanup(func() { os.RemoveAll(folder) })
	out := p.run(t, filepath.Join(folder, "birds.safetensors"), filepath.Join(folder, "birds.index"), filepath.Join(folder, "wren1.png"))
	lines := strings.Split(out, "\n")
	if len(lines) != 5+1 || lines[0] != "0.0000  wren  wren1.png" {
		t.Errorf("printed\n%s", out)
	}
}

// program is the path of an executable that was built outside.
type program string

// command returns the program with arguments, not yet started.
func (p program) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, string(p), args...)
}

// run runs the program to its end and returns what it printed.
func (p program) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := p.command(t.Context(), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(string(p)), strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}

// buildOutside copies the programs of a folder, NAME/*.go each, into a new module that
// requires this one, builds them and returns them by name.
func buildOutside(t *testing.T, folder string) map[string]program {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(folder, "*", "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("%s holds no programs: %v", folder, err)
	}
	dir, bin := t.TempDir(), t.TempDir()
	programs := map[string]program{}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(source))
		write(t, filepath.Join(dir, name, filepath.Base(source)), text)
		programs[name] = program(filepath.Join(bin, name))
	}
	writeOutsideModule(t, dir)
	cmd := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build outside of the module: %v\n%s", err, out)
	}
	return programs
}

// writeOutsideModule writes go.mod and go.sum of a module that requires this one,
// from the folder of this test, and whatever this one requires, in the same versions:
// those are at hand.
func writeOutsideModule(t *testing.T, dir string) {
	t.Helper()
	repository, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var mod strings.Builder
	for line := range strings.Lines(string(own)) {
		switch {
		case strings.HasPrefix(line, "module "):
			line = "module example.com/outside\n"
		case strings.HasPrefix(line, "tool "):
			continue
		}
		mod.WriteString(line)
	}
	fmt.Fprintf(&mod, "\nrequire %s v0.0.0\n\nreplace %[1]s => %q\n", module, repository)
	write(t, filepath.Join(dir, "go.mod"), []byte(mod.String()))
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.sum"), sum)
}

// write makes a file and the folder that it is in.
func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
