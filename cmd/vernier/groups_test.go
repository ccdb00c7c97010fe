package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/report"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights"
)

// seenByCameras writes rows of 4 numbers of 12 persons by 3 cameras, each of which moves
// all that it sees, with 2 rows of each by each; and a table of them. It returns the
// specification of the set: 8 persons are for training.
func seenByCameras(t *testing.T) (x, table string) {
	t.Helper()
	dir := t.TempDir()
	x, table = filepath.Join(dir, "x.npy"), filepath.Join(dir, "rows.csv")
	r := rand.New(rand.NewPCG(3, 4))
	lines := "label,group,split,is_query,is_gallery\n"
	var numbers []float32
	for person := range 12 {
		at := [4]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		for camera := range 3 {
			for i := range 2 {
				for j, v := range at {
					if j == camera {
						v += 3
					}
					numbers = append(numbers, float32(v+.4*r.NormFloat64()))
				}
				split, query, gallery := "train", 0, 0
				if person >= 8 {
					if split = "test"; i == 0 && camera == 0 {
						query = 1
					} else {
						gallery = 1
					}
				}
				lines += fmt.Sprintf("p%02d,c%d,%s,%d,%d\n", person, camera, split, query, gallery)
			}
		}
	}
	a, err := weights.FromFloat32("", []int{len(numbers) / 4, 4}, numbers)
	if err != nil {
		t.Fatal(err)
	}
	if err := weights.WriteNPY(x, a); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(table, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return x, table
}

// TestGroupsAreLeftOutEverywhere: validation during training and verify tell what eval
// does of rows by cameras, with queries and gallery.
func TestGroupsAreLeftOutEverywhere(t *testing.T) {
	x, table := seenByCameras(t)
	folder := filepath.Join(t.TempDir(), "run")
	code, _, errs := vernier(t, "train", "--data", "features:"+x, "--labels", table, "--out", folder, "--dim", "2", "--epochs", "1", "--validation", "0.4",
		"--classes-per-batch", "3", "--images-per-class", "4")
	if code != cli.ExitDone {
		t.Fatal(errs)
	}
	measure := func(into any, args ...string) {
		t.Helper()
		code, text, errs := vernier(t, append(args, "--json")...)
		if err := json.Unmarshal([]byte(text), into); err != nil || code != cli.ExitDone {
			t.Fatalf("%v: exit %d, %v\n%s", args, code, err, errs)
		}
	}
	var validated, tested run.Results
	measure(&validated, "eval", folder, "--split", "validation", "--restarts", "1")
	f, err := os.Open(filepath.Join(folder, run.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var said float64
	for d := json.NewDecoder(f); d.More(); {
		var r run.EpochRecord
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Event == "epoch" {
			said = r.MAPAtR
		}
	}
	if m := validated.Model; m.TrapezoidMAP == nil || m.Queries != 18 || said != 100*m.MAPAtR {
		t.Errorf("validation in training tells MAP@R %v, eval of its %d rows %v (by trapezoids %v)", said, m.Queries, 100*m.MAPAtR, m.TrapezoidMAP)
	}
	measure(&tested, "eval", folder, "--restarts", "1")
	var v verification
	measure(&v, "verify", folder, "--max-pairs", "20")
	all := verification{}
	measure(&all, "verify", folder)
	// Of 4 persons by 3 cameras, 2 rows by each: 15 pairs less 3 by one camera.
	if m := tested.Model; m.Queries != 4 || m.Gallery != 20 || all.Same != 4*12 || all.Different != 6*36 || all.AUC != m.Verification.AUC || all.EER != m.Verification.EER {
		t.Errorf("verify: %d same, %d different pairs, AUC %v, EER %v; eval of %d queries among %d: %v, %v", all.Same, all.Different, all.AUC, all.EER, m.Queries, m.Gallery, m.Verification.AUC, m.Verification.EER)
	}
	if v.Same != 20 || v.All {
		t.Errorf("%d pairs are drawn, all %v", v.Same, v.All)
	}
	if code, text, errs := vernier(t, "verify", folder, "--calibrate", "eer"); code != cli.ExitDone || !strings.Contains(text, "24 same and") {
		t.Errorf("exit %d\n%s%s", code, text, errs)
	}
	var page report.Report
	measure(&page, "report", folder, "--neighbors", "23", "--drawn", "4")
	if wrong := (100 - tested.Model.Recall[0].Percent) * 4 / 100; page.Confusion.Queries != 4 || math.Abs(float64(page.Confusion.Wrong)-wrong) > 1e-9 || len(page.Drawn) != 4 {
		t.Errorf("the page has %d queries, %d of them wrong, eval %v; %d are drawn", page.Confusion.Queries, page.Confusion.Wrong, wrong, len(page.Drawn))
	}
	for _, q := range page.Drawn {
		row, err := strconv.Atoi(q.Path)
		if err != nil {
			t.Fatal(err)
		}
		if row%6 != 0 || len(q.Nearest) != 19 { // of 20 less one of its camera
			t.Errorf("query %d has %d neighbors", row, len(q.Nearest))
		}
		for i, n := range q.Nearest {
			near, err := strconv.Atoi(n.Path)
			if err != nil {
				t.Fatal(err)
			}
			if near/6 == row/6 && near%6/2 == row%6/2 || n.Right != (near/6 == row/6) || n.Right && i+1 < q.FirstRank {
				t.Errorf("query %d, first right at %d, has neighbor %d: row %d, right %v", row, q.FirstRank, i+1, near, n.Right)
			}
		}
	}
}
