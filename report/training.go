package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"

	"github.com/vernier-ml/vernier/eval/plot"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
)

// column reads a column of the history.
func column(rows [][]string, name string) []float64 {
	if len(rows) == 0 {
		return nil
	}
	at := slices.Index(rows[0], name)
	if at < 0 {
		return nil
	}
	var values []float64
	for _, r := range rows[1:] {
		v, err := strconv.ParseFloat(r[at], 64)
		if err != nil {
			v = math.NaN()
		}
		values = append(values, v)
	}
	return values
}

// training draws how the run went.
func (m *maker) training(folder run.Folder) error {
	f, err := wholefile.Open(folder.Path(run.HistoryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a run that was only begun
	}
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", folder.Path(run.HistoryFile), err)
	}
	epochs := column(rows, "epoch")
	if len(epochs) == 0 {
		return nil
	}
	s := section{ID: "training", Title: "Training"}
	if loss := points(epochs, column(rows, "loss")); loss != nil {
		if err := s.add(plot.Loss{Name: m.loss, X: "epoch", Points: loss}, "Training loss"); err != nil {
			return err
		}
	}
	recall, precision := column(rows, "validation_recall@1"), column(rows, "validation_map@r")
	if len(recall) > 0 && recall[0] >= 0 {
		validation := plot.Lines{Title: "Validation", X: "epoch", Y: "percent", Whole: true, Percent: true,
			Mark: &plot.Mark{Name: fmt.Sprintf("model shown here: epoch %d", m.Epoch), X: float64(m.Epoch)}}
		for _, l := range []plot.Line{{Name: "Recall@1", Points: points(epochs, recall)}, {Name: "MAP@R", Points: points(epochs, precision), Dashed: true},
			{Name: "Recall@1, averaged weights", Points: points(epochs, column(rows, "validation_ema_recall@1"))},
			{Name: "MAP@R, averaged weights", Points: points(epochs, column(rows, "validation_ema_map@r")), Dashed: true}} {
			if l.Points != nil {
				validation.Lines = append(validation.Lines, l)
			}
		}
		if err := s.add(validation, "Validation classes, set aside from the training classes"); err != nil {
			return err
		}
	}
	if mean, std := points(epochs, column(rows, "distance_mean")), column(rows, "distance_std"); mean != nil && std != nil {
		if err := s.add(plot.Lines{Title: "Distances in a batch", X: "epoch", Y: m.Distance, Whole: true,
			Lines: []plot.Line{{Name: "mean ± deviation", Points: mean, Deviation: std, Band: true}},
		}, "Values of the metric between different images of the last batch; a collapse shows as a fall to one value"); err != nil {
			return err
		}
	}
	if scale := points(epochs, column(rows, "scale")); scale != nil {
		if err := s.add(plot.Lines{Title: "Scale", X: "epoch", Y: "scale c", Whole: true, Lines: []plot.Line{{Name: "c", Points: scale}}},
			"Scale of the embeddings, which training changes"); err != nil {
			return err
		}
	}
	m.charts = append(m.charts, s)
	return nil
}

// points are those of a curve over x, or nil if no value is a number.
func points(x, y []float64) []plot.Point {
	var list []plot.Point
	finite := false
	for i, v := range y {
		list = append(list, plot.Point{X: x[i], Y: v})
		finite = finite || !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	if !finite {
		return nil
	}
	return list
}
