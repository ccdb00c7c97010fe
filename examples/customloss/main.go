// Program customloss trains with a loss, or a miner, that Vernier does not have.
//
//	customloss RUN [LOSS]
//
// LOSS is cubed, the loss of this program, by default; second-closest, a triplet loss
// with the miner of this program; or any other that losses.New knows. Killed and
// started again the program continues where its last checkpoint was, to the bit.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// cubed pulls items of one class together and pushes those of different classes apart
// as far as a margin, each by the cube of what is missing. It is written for distances.
type cubed struct {
	// Near is what items of a class may be apart, Far what others have to be. Exported
	// fields are stored with a run, which does not continue with others.
	Near, Far float64
}

// Columns says that a batch is compared with itself, and not with a row for each class.
func (cubed) Columns() losses.Columns { return losses.Batch }

// Eval returns the loss of the distances m.V between the rows of a batch, and sets grad
// to its derivative with respect to each of them.
func (l cubed) Eval(m *losses.Matrix, grad []float64) (losses.Result, error) {
	clear(grad)
	r := losses.Result{Total: m.Rows * (m.Cols - 1)}
	share := 1 / float64(r.Total)
	for i, label := range m.RowLabels {
		for j, other := range m.ColLabels {
			if m.Self(i, j) { // an item and itself
				continue
			}
			k, sign := i*m.Cols+j, 1.
			missing := m.V[k] - l.Near
			if other != label {
				missing, sign = l.Far-m.V[k], -1
			}
			if missing <= 0 {
				continue
			}
			r.Active++
			r.Value += share * missing * missing * missing
			grad[k] = sign * share * 3 * missing * missing
		}
	}
	return r, nil
}

// secondClosest makes a triplet of every item, each other one of its class, and the
// second-closest of another class: the closest may be mislabeled.
type secondClosest struct{}

func (secondClosest) Mine(m *losses.Matrix, out *losses.Triplets) error {
	out.Reset()
	for i, label := range m.RowLabels {
		first, second := -1, -1
		for j, other := range m.ColLabels {
			closer := func(than int) bool { return than < 0 || m.Away()*m.V[i*m.Cols+j] < m.Away()*m.V[i*m.Cols+than] }
			switch {
			case other == label:
			case closer(first):
				first, second = j, first
			case closer(second):
				second = j
			}
		}
		for j, other := range m.ColLabels {
			if other == label && !m.Self(i, j) && second >= 0 {
				out.Anchor = append(out.Anchor, i)
				out.Positive = append(out.Positive, j)
				out.Negative = append(out.Negative, second)
			}
		}
	}
	return nil
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: customloss RUN [LOSS]")
	}
	// The names by which the settings of a run have them, now and when it is resumed. A
	// view makes distances of unit vectors, 0 to 2, of whatever metric the run has.
	losses.Register("cubed", func(o losses.Options) (losses.Loss, error) {
		return losses.On(losses.AsSphere(o.Metric, o.Scale), cubed{Near: 0.3, Far: 1.2}), nil
	})
	losses.Register("second-closest", func(o losses.Options) (losses.Loss, error) {
		return losses.On(losses.AsSphere(o.Metric, o.Scale), &losses.Triplet{Margin: 0.3, Miner: secondClosest{}}), nil
	})
	name := "cubed"
	if len(os.Args) > 2 {
		name = os.Args[2]
	}
	if err := work(context.Background(), os.Args[1], name); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context, folder, loss string) error {
	// Is the gradient right? Three items of two classes, at distances without a kink.
	labels := []int{0, 0, 1}
	if err := losses.CheckGradient(cubed{Near: 0.3, Far: 1.2}, &losses.Matrix{
		Rows: 3, Cols: 3, RowLabels: labels, ColLabels: labels, SelfColumns: true,
		V: []float64{0, 0.5, 0.9, 0.5, 0, 1.1, 0.9, 1.1, 0},
	}); err != nil {
		return err
	}
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		return err
	}
	defer eng.Close()
	cfg := run.Default("glyphs")
	cfg.Loss.Name = loss
	cfg.Model.Dim = 16
	cfg.ClassesPerBatch, cfg.ImagesPerClass = 6, 3
	cfg.Data.TrainClasses = "60"                       // of 666, so that this is quick
	cfg.Epochs = 2                                     // a good model takes 20 or more
	cfg.Run.SaveEvery = run.Duration(time.Second / 10) // a checkpoint within an epoch
	session, err := train.Open(ctx, cfg, folder, eng, train.Options{ModelOnly: true, Restarts: 1})
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.Train(ctx); err != nil {
		return err
	}
	results, err := session.Finish(ctx)
	if err != nil {
		return err
	}
	recall, _ := results.Model.RecallAt(1)
	fmt.Printf("%s: Recall@1 %.1f%% on %d classes that it has not seen\n", loss, recall, results.Model.Classes)
	return nil
}
