package report

import (
	"context"
	"image"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/run"
)

// subject is what a page shows: labeled rows, as they are searched.
type subject struct {
	rows    *eval.Embeddings // of both sides, each once; a row's place here is its number
	sides   run.Sides
	metric  metric.Metric
	classes []string // by label
	path    func(row int) string
	// picture is what a row is of; nil where there is none.
	picture func(ctx context.Context, row int) (image.Image, error)
}

// subjectOf is the images of a run.
func subjectOf(e *run.Embedded) *subject {
	s := &subject{rows: e.Embeddings, sides: e.Sides(), metric: e.Model.Spec.Metric, classes: e.Set.Classes}
	s.path = func(row int) string { return e.Set.Items[row].Path }
	s.picture = func(ctx context.Context, row int) (image.Image, error) {
		if e.Set.Width() > 0 {
			return nil, nil
		}
		img, err := e.Set.Load(ctx, row)
		if err != nil {
			return nil, err
		}
		return img, nil
	}
	return s
}

// subjectOfRows is embeddings that another program made. A picture that cannot be read is
// none, with a warning.
func subjectOfRows(set *run.RowSet, events run.Events) *subject {
	s := &subject{sides: set.Sides, metric: set.Metric, classes: set.Classes}
	s.path = func(row int) string { return nametext.WithoutFolders(set.Path(row)) }
	s.rows, _, _ = set.Both()
	s.picture = func(ctx context.Context, row int) (image.Image, error) {
		if set.Picture == nil {
			return nil, nil
		}
		img, err := set.Picture(ctx, row)
		if err != nil && ctx.Err() == nil {
			run.OrSilent(events).Warn("row %d has no picture: %v", row, err)
			return nil, nil
		}
		return img, err
	}
	return s
}

// class names the class of a row.
func (s *subject) class(row int) string { return s.classes[s.rows.Labels[row]] }

// byClass lists the rows of every class.
func (s *subject) byClass() [][]int {
	lists := make([][]int, len(s.classes))
	for row, label := range s.rows.Labels {
		lists[label] = append(lists[label], row)
	}
	return lists
}
