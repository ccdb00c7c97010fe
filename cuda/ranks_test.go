//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/cuda/internal/fake"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// fakeRanks are engines on devices of their own that a net joins.
func fakeRanks(t *testing.T, size int, opt Options) (list []*Engine) {
	net := fake.NewNet(size)
	for rank := range size {
		d := fake.New(1 << 30)
		d.At, d.Joins = fmt.Sprintf("0000:%02x:00", rank), &fake.Joined{Driver: d, Net: net}
		e, _ := onFake(t, d, opt)
		list = append(list, e)
	}
	return list
}

// Ranks come to the same bits, those of comm.Tree if the engine is deterministic.
func TestDevicesSumOverRanks(t *testing.T) {
	sizes := []int{5, orderedPiece + 3, 1}
	value := func(rank, tensor, i int) float32 { return 1 / float32(3+rank+5*tensor+i%17) }
	for _, deterministic := range []bool{false, true} {
		for _, size := range []int{1, 2, 3} {
			engines := fakeRanks(t, size, Options{Deterministic: deterministic})
			sums := make([][][]float32, size)
			err := comm.Local(size, func(c comm.Comm) (err error) {
				e := engines[c.Rank()]
				id, err := e.Invitation()
				if err != nil {
					return err
				}
				if err := e.SumRanks(nil); err == nil || e.Joined() {
					return fmt.Errorf("a sum before there is a group: %v", err)
				}
				if err := e.Join(id, c.Rank(), size, time.Minute); err != nil || !e.Joined() {
					return fmt.Errorf("joining: %v", err)
				}
				var list []engine.Tensor
				for k, n := range sizes {
					x, err := e.New(n)
					if err != nil {
						return err
					}
					host := make([]float32, n)
					for i := range host {
						host[i] = value(c.Rank(), k, i)
					}
					if err := e.Write(x, host); err != nil {
						return err
					}
					list = append(list, x)
				}
				if err := e.SumRanks(list); err != nil {
					return err
				}
				for k, x := range list {
					host := make([]float32, sizes[k])
					if err := e.Read(host, x); err != nil {
						return err
					}
					sums[c.Rank()] = append(sums[c.Rank()], host)
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%d ranks: %v", size, err)
			}
			for k, n := range sizes {
				parts := make([][]float32, size)
				for rank := range parts {
					at := rank
					if !deterministic {
						at = size - 1 - rank // as the fake library adds
					}
					parts[at] = make([]float32, n)
					for i := range n {
						parts[at][i] = value(rank, k, i)
					}
				}
				comm.Tree(parts)
				for rank := range size {
					if !slices.Equal(sums[rank][k], parts[0]) {
						t.Errorf("deterministic %v, %d ranks, tensor %d: rank %d has another sum", deterministic, size, k, rank)
					}
				}
			}
		}
	}
}

// A device waits for one that does not come no longer than it has patience.
func TestADeviceDoesNotWaitForEver(t *testing.T) {
	e := fakeRanks(t, 2, Options{})[0]
	id, err := e.Invitation()
	if err != nil {
		t.Fatal(err)
	}
	err = e.Join(id, 0, 2, 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "it has waited 100ms in joining for the GPUs of other ranks") {
		t.Errorf("got %v", err)
	}
}

// Ranks on GPUs train the model that they train by way of the host, where sums have its order.
func TestRanksOnGPUsTrainTheSameModel(t *testing.T) {
	data, models := shades(t), map[string]string{}
	for _, by := range train.Collectives() {
		engines := fakeRanks(t, 2, Options{Precision: FP32, Deterministic: true})
		folder, joins := run.Folder(filepath.Join(t.TempDir(), "run")), by != train.CollectivesHost
		c := run.Default("folder:" + data)
		c.Model.Input.Size, c.Model.Dim, c.Data.Validation, c.Steps = 16, 8, 0, 3
		c.ClassesPerBatch, c.ImagesPerClass, c.Loss.Name, c.Freeze.BNStats = 2, 2, "contrastive", true
		err := comm.Local(2, func(r comm.Comm) error {
			e := engines[r.Rank()]
			chosen, why, err := train.Connect(r, e, by, time.Minute)
			if err != nil || why != "" || (chosen == train.CollectivesNCCL) != joins || e.Joined() != joins {
				return fmt.Errorf("chosen is %q, %q, %v", chosen, why, err)
			}
			s, err := train.Start(t.Context(), c, folder, e, train.Options{Workers: 1, Comm: r})
			if err != nil {
				return err
			}
			defer s.Close()
			return s.Train(t.Context())
		})
		if err != nil {
			t.Fatalf("%s: %v", by, err)
		}
		if models[by], err = wholefile.Digest(folder.Path(run.LastFile)); err != nil {
			t.Fatal(err)
		}
		if n := engines[0].driver.(*fake.Driver).Joins.Gathered; (n > 0) != joins {
			t.Errorf("%s: %d gatherings by the library", by, n)
		}
	}
	if models[train.CollectivesNCCL] != models[train.CollectivesHost] || models[train.CollectivesAuto] != models[train.CollectivesHost] {
		t.Errorf("models differ: %v", models)
	}
}

// Of two ranks on one GPU, or of one without NCCL, the error names the cause, and auto takes
// the host.
func TestDevicesThatCannotJoin(t *testing.T) {
	for want, bend := range map[string]func(d *fake.Driver){
		"it has the GPU of rank 0, 0000:00:00: NCCL needs one for each rank": func(d *fake.Driver) { d.At = "0000:00:00" },
		"NCCL is missing": func(d *fake.Driver) { d.Joins = nil },
	} {
		for _, by := range []string{train.CollectivesAuto, train.CollectivesNCCL} {
			engines := fakeRanks(t, 2, Options{})
			bend(engines[1].driver.(*fake.Driver))
			err := comm.Local(2, func(c comm.Comm) error {
				chosen, why, err := train.Connect(c, engines[c.Rank()], by, time.Minute)
				if err == nil && (chosen != train.CollectivesHost || !strings.HasPrefix(why, "rank 1 (") || !strings.HasSuffix(why, want)) {
					return fmt.Errorf("chosen is %q: %q, want %q", chosen, why, want)
				}
				return err
			})
			if by == train.CollectivesAuto && err != nil {
				t.Error(err)
			}
			if by == train.CollectivesNCCL && (err == nil || !strings.HasPrefix(err.Error(), "rank 1 (") || !strings.HasSuffix(err.Error(), want)) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
}
