// Package vernier_test holds the tests of the repository as a whole.
package vernier_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/vernier-ml/vernier"

// mayImport is the layout of the house: which of our packages each one may
// import, directly. A package outside this table is a failure, so that a new
// room is a decision and not an accident. "" is the module's root, package vernier.
var mayImport = map[string][]string{
	"":                              {"model", "data", "eval", "gallery", "cpu", "engine", "metric", "internal/nametext", "run", "data/pixels", "data/transform"},
	"examples/embed":                {""},
	"cmd/vernier":                   {"comm", "model", "backbone", "layers", "losses", "data", "train", "run/pairs", "train/sweep", "eval", "gallery", "report", "serve", "serve/page", "cuda", "weights", "cpu", "internal/bench", "internal/trace", "internal/nearest", "internal/plural", "internal/wholefile", "metric", "internal/table", "engine", "internal/nametext", "internal/home", "optim", "internal/sums", "run", "eval/plot", "eval/rerank", "internal/setting", "data/pixels", "data/transform", "data/features", "data/fetch", "weights/public", "cmd/internal/tabular", "cmd/internal/tuning", "cmd/internal/cli", "cmd/internal/rowfiles", "cmd/internal/galleries", "cmd/internal/probing"},
	"model":                         {"backbone", "layers", "layers/links", "weights", "metric", "engine"},
	"backbone":                      {"layers", "engine", "internal/registry", "data/pixels", "data/transform"},
	"metric":                        {},
	"layers":                        {"metric", "engine", "internal/hash64"},
	"losses":                        {"comm", "layers", "metric", "engine", "internal/registry", "losses/intrabatch", "losses/structure", "layers/links"},
	"layers/links":                  {"layers", "engine"},
	"losses/intrabatch":             {"layers", "engine"},
	"losses/structure":              {"layers"},
	"data":                          {"data/features", "internal/hash64", "internal/nearest", "internal/wholefile", "internal/plural", "internal/table", "internal/nametext", "internal/home", "internal/registry", "internal/unpack", "data/pixels", "data/transform", "data/internal/outline", "data/internal/natural", "data/internal/progress", "data/internal/source", "internal/disk", "data/internal/float16"},
	"train":                         {"model", "losses", "data", "comm", "eval", "weights", "layers", "internal/plural", "metric", "engine", "optim", "run", "internal/tfevents", "internal/setting", "data/transform", "internal/trace", "internal/wholefile", "internal/finite", "run/pairs"},
	"run/pairs":                     {"data", "internal/hash64", "internal/home", "internal/nametext", "internal/pairtable", "internal/plural", "internal/table", "losses"},
	"train/sweep":                   {"train", "eval", "internal/nearest", "internal/plural", "engine", "run", "eval/plot"},
	"report":                        {"metric", "eval", "eval/probe", "eval/plot", "eval/tsne", "model", "internal/plural", "engine", "internal/nametext", "run", "data/pixels", "internal/wholefile"},
	"serve":                         {"", "data/pixels", "eval", "gallery", "internal/finite", "internal/nearest", "internal/nametext", "internal/wholefile", "model", "serve/api", "serve/page", "weights"},
	"serve/api":                     {},
	"serve/page":                    {"serve/api"},
	"client":                        {"serve/api"},
	"gallery":                       {"eval", "weights", "internal/wholefile", "internal/plural", "metric", "internal/sums", "internal/parquetfile", "internal/nametext"},
	"eval":                          {"comm", "metric", "internal/pairtable", "internal/table", "internal/hash64", "engine", "cpu"},
	"eval/probe":                    {"eval", "metric", "internal/plural"},
	"eval/rerank":                   {"eval", "metric", "engine", "cpu", "internal/nearest"},
	"linear":                        {"eval", "linear/internal/lbfgs", "metric", "internal/plural", "internal/table", "engine", "eval/plot", "internal/wholefile"},
	"linear/internal/lbfgs":         {},
	"cuda":                          {"cuda/kernels", "cuda/internal/device", "cuda/internal/gpu", "cuda/internal/native", "metric", "engine", "internal/setting"},
	"cuda/internal/abi":             {},
	"cuda/internal/device":          {"cuda/kernels"},
	"cuda/internal/fake":            {"cuda/internal/device", "cuda/kernels", "cuda/kernels/host"},
	"cuda/internal/gpu":             {"cuda/internal/device", "cuda/internal/native"},
	"cuda/internal/native":          {"cuda/internal/device"},
	"cuda/kernels":                  {},
	"cuda/kernels/digest":           {},
	"cuda/kernels/gen":              {"cuda/kernels/digest", "internal/approx"},
	"cuda/kernels/host":             {"cuda/kernels"},
	"weights/public":                {"internal/disk", "internal/download", "internal/nearest", "internal/wholefile", "internal/zipfile"},
	"weights":                       {"internal/nearest", "internal/wholefile", "internal/zipfile"},
	"internal/browsertest":          {},
	"internal/bench":                {"comm", "layers", "backbone", "model", "losses", "eval", "metric", "engine", "optim"},
	"cpu":                           {"internal/approx", "metric", "engine"},
	"internal/approx":               {},
	"internal/trace":                {"engine"},
	"cpu/internal/gen":              {"internal/approx"},
	"cpu/internal/gen/neon":         {"internal/approx"},
	"internal/enginetest/reference": {"metric", "engine"},
	"internal/enginetest":           {"layers", "losses", "internal/enginetest/reference", "internal/golden", "metric", "engine"},
	"internal/golden":               {},
	"internal/nametext":             {},
	"internal/home":                 {},
	"internal/nearest":              {},
	"internal/parquetfile":          {"internal/wholefile", "weights"},
	"internal/finite":               {},
	"internal/hash64":               {},
	"internal/plural":               {},
	"internal/registry":             {},
	"internal/sums":                 {"internal/wholefile"},
	"internal/setting":              {},
	"internal/pairtable":            {"internal/table"},
	"internal/table":                {"internal/plural", "internal/sums", "internal/nearest", "internal/unpack"},
	"internal/unpack":               {},
	"internal/wholefile":            {},
	"internal/zipfile":              {},
	"engine":                        {"metric"},
	"comm":                          {"comm/internal/mpi"},
	"comm/internal/mpi":             {},
	"optim":                         {"engine", "layers", "internal/finite"},
	"run":                           {"backbone", "comm", "data", "engine", "eval", "eval/probe", "gallery", "internal/home", "internal/registry", "internal/nametext", "internal/nearest", "internal/plural", "internal/sums", "internal/wholefile", "layers", "losses", "metric", "model", "optim", "weights", "weights/public", "eval/plot", "internal/setting", "data/pixels", "data/transform", "internal/finite", "run/pairs"},
	"eval/tsne":                     {"eval", "metric"},
	"train/tune":                    {"eval", "eval/plot", "engine", "internal/nearest", "internal/plural", "internal/wholefile", "report", "run", "train", "train/sweep", "train/tune/tpe"},
	"train/tune/tpe":                {},
	"cmd/internal/tabular":          {"cmd/internal/cli", "internal/plural", "internal/sums", "internal/wholefile", "linear"},
	"cmd/internal/tuning":           {"cmd/internal/cli", "internal/plural", "internal/wholefile", "run", "train", "train/sweep", "train/tune"},
	"eval/plot":                     {"eval", "internal/nametext", "internal/wholefile"},
	"internal/tfevents":             {},
	"data/internal/imagetest":       {},
	"data/pixels":                   {"data/internal/progress"},
	"examples/custombackbone":       {"backbone", "cpu", "engine", "layers", "model", "run", "train"},
	"examples/customdata":           {"cpu", "data", "data/pixels", "run", "train", "data/transform"},
	"examples/customloss":           {"cpu", "losses", "run", "train"},
	"examples/train":                {"cpu", "run", "train"},
	"data/transform":                {"data/pixels", "internal/registry"},
	"data/internal/outline":         {"data/pixels"},
	"internal/house":                {},
	"internal/mpitest":              {},
	"gallery/internal/advice":       {"gallery"},
	"internal/storetest":            {"eval", "gallery", "metric"},
	"gallery/postgres":              {"gallery/internal/advice", "eval", "gallery", "metric"},
	"gallery/weaviate":              {"gallery/internal/advice", "eval", "gallery", "internal/plural", "metric"},
	"data/internal/natural":         {},
	"data/internal/progress":        {},
	"data/internal/source":          {"data/internal/natural", "data/internal/progress", "data/pixels", "internal/nametext", "internal/plural", "internal/unpack", "internal/zipfile"},
	"data/features":                 {"internal/disk", "internal/home", "internal/nearest", "internal/parquetfile", "internal/table", "internal/wholefile", "weights"},
	"data/fetch":                    {"internal/disk", "internal/download", "data/internal/source", "internal/wholefile"},
	"internal/disk":                 {},
	"internal/download":             {"internal/disk"},
	"data/internal/float16":         {},
	"cmd/internal/cli":              {"comm", "cpu", "cuda", "data", "engine", "internal/home", "internal/nametext", "internal/nearest", "internal/plural", "internal/setting", "internal/wholefile", "linear", "run"},
	"cmd/internal/clitest":          {},
	"cmd/internal/galleries":        {"cmd/internal/cli", "eval", "gallery", "gallery/postgres", "gallery/weaviate", "internal/nametext", "internal/plural", "internal/wholefile", "serve/page"},
	"cmd/internal/probing":          {"cmd/internal/cli", "eval", "eval/probe", "internal/plural"},
	"cmd/internal/rowfiles":         {"cmd/internal/cli", "data", "data/features", "eval", "internal/home", "internal/nametext", "internal/plural", "metric", "run"},
	"cmd/vernier-papers":            {"cmd/internal/cli", "eval", "eval/plot", "internal/plural", "internal/setting", "internal/wholefile", "linear", "run", "train"},
}

// TestImportsFollowTheLayout asks the go command, so that build tags and new
// files are seen.
func TestImportsFollowTheLayout(t *testing.T) {
	for _, tags := range []string{"", "gpu"} {
		out, err := exec.Command("go", "list", "-tags", tags, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			fields := strings.Fields(line)
			pkg := strings.TrimPrefix(strings.TrimPrefix(fields[0], module), "/")
			allowed, ok := mayImport[pkg]
			if !ok {
				t.Errorf("package %q has no row in the layout table", pkg)
				continue
			}
			for _, imp := range fields[1:] {
				rest, ours := strings.CutPrefix(imp+"/", module+"/")
				rest = strings.TrimSuffix(rest, "/")
				if ours && !slices.Contains(allowed, rest) {
					t.Errorf("tags %q: %q imports %q; it may import only %q", tags, pkg, rest, allowed)
				}
			}
		}
	}
}

// TestGorgoniaIsKnownToLayersAlone keeps search, figures, files and linear
// learners usable without the graph.
func TestGorgoniaIsKnownToLayersAlone(t *testing.T) {
	free := []string{"./cpu", "./engine", "./metric", "./eval", "./gallery", "./linear"}
	out, err := exec.Command("go", append([]string{"list", "-deps"}, free...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, path := range strings.Fields(string(out)) {
		if strings.HasPrefix(path, "gorgonia.org/") {
			t.Errorf("%v depend on %s", free, path)
		}
	}
	out, err = exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		for _, imp := range fields[1:] {
			if strings.HasPrefix(imp, "gorgonia.org/") && fields[0] != module+"/layers" {
				t.Errorf("%s imports %s: only layers may", fields[0], imp)
			}
		}
	}
}
