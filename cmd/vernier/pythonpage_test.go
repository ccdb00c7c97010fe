package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/run"
)

// python is an interpreter with numpy, and the folder that its programs run in.
type python struct{ program, folder string }

// withNumPy finds the interpreter that VERNIER_PYTHON names, or python3, and enters an
// empty folder. Encoders are stand-ins from testdata. It skips where there is no numpy.
func withNumPy(t *testing.T) python {
	t.Helper()
	name := os.Getenv("VERNIER_PYTHON")
	if name == "" {
		name = "python3"
	}
	program, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("there is no Python: %v; VERNIER_PYTHON names an interpreter", err)
	}
	if program, err = filepath.Abs(program); err != nil { // before the folder is left
		t.Fatal(err)
	}
	encoders, err := filepath.Abs(filepath.Join("testdata", "encoders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", encoders)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	p := python{program, t.TempDir()}
	back, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(p.folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chdir(back); err != nil {
			t.Error(err)
		}
	})
	p.needs(t, "numpy")
	return p
}

// needs skips the test where a package cannot be imported.
func (p python) needs(t *testing.T, packages ...string) {
	t.Helper()
	for _, name := range packages {
		if err := exec.Command(p.program, "-c", "import "+name).Run(); err != nil {
			t.Skipf("%s has no %s; VERNIER_PYTHON names another interpreter", p.program, name)
		}
	}
}

// run runs a program and returns what it prints.
func (p python) run(t *testing.T, program string) string {
	t.Helper()
	cmd := exec.Command(p.program, "-c", program)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\nin the program\n%s", err, &errs, program)
	}
	return string(out)
}

// pageStep is a program in Python, or else the arguments of a command line.
type pageStep struct {
	program string
	command []string
}

// pageSteps are the programs in Python and the commands behind a $ in a text.
func pageSteps(text string) (steps []pageStep) {
	step := regexp.MustCompile("(?ms)^```python\n(.*?)^```$|^    \\$ vernier ([^\n]*)$")
	for _, m := range step.FindAllStringSubmatch(text, -1) {
		steps = append(steps, pageStep{m[1], strings.Fields(m[2])})
	}
	return steps
}

// docsPage reads a page of docs; it is called before the folder is left.
func docsPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// recall runs eval and returns Recall@1 in percent.
func recall(t *testing.T, command []string) float64 {
	t.Helper()
	code, text, errs := vernier(t, append(command[:len(command):len(command)], "--json")...)
	r := &run.Results{}
	if err := json.Unmarshal([]byte(text), r); err != nil || code != cli.ExitDone {
		t.Fatalf("%v: exit %d, %v\n%s", command, code, err, errs)
	}
	return r.Model.Recall[0].Percent
}

// TestThePythonPageSaysTheSameOnBothSides runs the page from its top to its end: each
// eval has the Recall@1 that the program before it prints.
func TestThePythonPageSaysTheSameOnBothSides(t *testing.T) {
	steps := pageSteps(docsPage(t, "python.md"))
	p := withNumPy(t)
	printed := regexp.MustCompile(`Recall@1 ([0-9.]+)`)
	compared, want := 0, math.NaN()
	for _, s := range steps {
		switch {
		case strings.Contains(s.program, "torch"):
			// has a test of its own
		case strings.Contains(s.program, "onnxruntime"):
			t.Run("onnxruntime", func(t *testing.T) {
				p.needs(t, "onnxruntime")
				want = atoRecall(t, printed.FindStringSubmatch(p.run(t, s.program)))
			})
		case s.program != "":
			want = math.NaN()
			if out := p.run(t, s.program); out != "" {
				want = atoRecall(t, printed.FindStringSubmatch(out))
			}
		case s.command[0] == "eval":
			if got := recall(t, s.command); !(math.Abs(got-want) < 1e-9) {
				t.Errorf("vernier %s: Recall@1 %v, and Python says %v", strings.Join(s.command, " "), got, want)
			}
			compared++
		default:
			if code, _, errs := vernier(t, s.command...); code != cli.ExitDone {
				t.Fatalf("vernier %s: exit %d\n%s", strings.Join(s.command, " "), code, errs)
			}
		}
	}
	if compared != 4 {
		t.Errorf("%d figures were compared, want 4", compared)
	}
	if want < 85 { // the features have 33.8
		t.Errorf("the head has Recall@1 %v, want at least 85", want)
	}
}

// atoRecall parses what Python printed.
func atoRecall(t *testing.T, found []string) float64 {
	t.Helper()
	if found == nil {
		t.Fatal("the program prints no Recall@1")
	}
	r, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFeaturesComeOutOfPyTorch runs the page's program for CLIP with a small network in
// its place, on images of three colors.
func TestFeaturesComeOutOfPyTorch(t *testing.T) {
	steps := pageSteps(docsPage(t, "python.md"))
	p := withNumPy(t)
	p.needs(t, "torch", "torchvision")
	for class, c := range map[string]color.RGBA{"blue": {B: 200, A: 255}, "green": {G: 200, A: 255}, "red": {R: 200, A: 255}} {
		for i := range 3 {
			img := image.NewRGBA(image.Rect(0, 0, 4, 4))
			for j := range 16 {
				img.SetRGBA(j%4, j/4, c)
			}
			img.SetRGBA(i, i, color.RGBA{uint8(i), uint8(20 * i), 9, 255})
			var file bytes.Buffer
			if err := png.Encode(&file, img); err != nil {
				t.Fatal(err)
			}
			writeIn(t, file.Bytes(), "photos", class, fmt.Sprintf("%d.png", i))
		}
	}
	p.run(t, steps[0].program)
	if got := recall(t, []string{"eval", "--embeddings", "clip.npy", "--labels", "classes.npy"}); got != 100 {
		t.Errorf("Recall@1 of three colors %v, want 100", got)
	}
}

func writeIn(t *testing.T, content []byte, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTheGuideReadsSentencesAndVoices runs section 9 of the guide with small encoders in
// place of sentence-transformers and Resemblyzer.
func TestTheGuideReadsSentencesAndVoices(t *testing.T) {
	_, section, found := strings.Cut(docsPage(t, "guide.md"), "\n## 9. ")
	if !found {
		t.Fatal("docs/guide.md has no section 9")
	}
	p := withNumPy(t)
	writeIn(t, []byte("text,topic\naab,letters\naaab,letters\naabb,letters\nhgh,others\nhhg,others\nhhgg,others\n"), "sentences.csv")
	// Within a session a voice is near to itself, and across sessions near to another one.
	for speaker, at := range map[string][2]byte{"ann": {10, 90}, "bob": {92, 12}} {
		for session, place := range at {
			for i := range 2 {
				writeIn(t, []byte{place, byte(i), 40}, "voices", speaker, fmt.Sprint("day", session), fmt.Sprintf("%d.wav", i))
			}
		}
	}
	var got []float64
	for _, s := range pageSteps(section) {
		switch {
		case s.program != "":
			p.run(t, s.program)
		case s.command[0] == "eval":
			got = append(got, recall(t, s.command))
		default:
			if code, _, errs := vernier(t, s.command...); code != cli.ExitDone {
				t.Errorf("vernier %s: exit %d\n%s", strings.Join(s.command, " "), code, errs)
			}
		}
	}
	if len(got) != 2 || got[0] != 100 || got[1] != 0 {
		t.Errorf("Recall@1 %v, want 100 of sentences and 0 of voices in other sessions", got)
	}
}
