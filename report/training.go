package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"

	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
)

// section is a part of the page that holds charts.
type section struct {
	ID, Title, Note string
	Figures         []captioned
}

type captioned struct {
	figure
	Caption string
}

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
	x := linear("epoch", epochs[0], epochs[len(epochs)-1])
	x.ticks = slices.DeleteFunc(x.ticks, func(t tick) bool { return t.at != math.Trunc(t.at) })
	for i := range x.ticks {
		x.ticks[i].label = strconv.Itoa(int(x.ticks[i].at))
	}
	draw := func(caption, label string, low, high float64, marks bool, series ...curve) {
		c := newChart(caption, "by epoch", x, linear(label, low, high))
		for _, s := range series {
			c.line(s.class, s.name, s.points(epochs, len(epochs) <= 60))
		}
		if marks {
			c.vertical("best", fmt.Sprintf("model shown here: epoch %d", m.Epoch), float64(m.Epoch))
		}
		s.Figures = append(s.Figures, captioned{c.done(), caption})
	}
	if loss := column(rows, "loss"); loss != nil {
		low, high := bounds(loss)
		draw("Training loss", "loss", min(low, 0), high, false, curve{"s0", "loss", loss})
	}
	recall, precision := column(rows, "validation_recall@1"), column(rows, "validation_map@r")
	if len(recall) > 0 && recall[0] >= 0 {
		draw("Validation classes, set aside from the training classes", "percent", 0, 100, true,
			curve{"s0", "Recall@1", recall}, curve{"s1", "MAP@R", precision})
	}
	if mean, std := column(rows, "distance_mean"), column(rows, "distance_std"); mean != nil && std != nil {
		low, high := make([]float64, len(mean)), make([]float64, len(mean))
		for i := range mean {
			low[i], high[i] = mean[i]-std[i], mean[i]+std[i]
		}
		a, _ := bounds(low)
		_, b := bounds(high)
		c := newChart("Distances in a batch", "mean and deviation by epoch", x, linear(m.Distance, min(a, 0), b))
		c.area("s2", "mean ± deviation", epochs, low, high)
		c.line("s2", "mean", curve{"s2", "mean", mean}.points(epochs, false))
		s.Figures = append(s.Figures, captioned{c.done(), "Values of the metric between different images of the last batch; a collapse shows as a fall to one value"})
	}
	m.charts = append(m.charts, s)
	return nil
}

type curve struct {
	class, name string
	y           []float64
}

func (c curve) points(x []float64, titles bool) []point {
	var points []point
	for i, v := range c.y {
		p := point{x: x[i], y: v}
		if titles {
			p.title = fmt.Sprintf("%s %.4g at %s %v", c.name, v, "epoch", x[i])
		}
		points = append(points, p)
	}
	return points
}

// bounds of the finite values.
func bounds(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	if low > high {
		return 0, 1
	}
	return low, high
}
