package serve

import (
	"context"
	"errors"

	"github.com/vernier-ml/vernier"
	"github.com/vernier-ml/vernier/model"
)

// FromModel fills in what a model says: how queries are embedded, and when two are the same.
// The model computes on its engine, which nothing else may use at the same time. close ends
// the use of it.
func FromModel(m *model.Model, maxPixels int64) (c Config, close func() error, err error) {
	var options []vernier.Option
	if maxPixels > 0 {
		options = append(options, vernier.WithMaxPixels(maxPixels))
	}
	v, err := vernier.New(m, options...)
	if err != nil {
		return c, nil, err
	}
	c = Config{Features: m.Width(), MaxPixels: maxPixels, Embed: func(ctx context.Context, queries []Query) ([][]float32, []error) {
		return embedAll(ctx, v, queries)
	}}
	if m.Threshold != nil {
		c.Threshold = &m.Threshold.Distance
	}
	return c, v.Close, nil
}

// embedSizes are the batches that queries are embedded in: a model keeps networks of three
// sizes.
var embedSizes = [...]int{16, 4, 1}

// embedAll embeds queries in batches of embedSizes.
func embedAll(ctx context.Context, m *vernier.Model, queries []Query) (rows [][]float32, errs []error) {
	for len(queries) > 0 {
		size := 1
		for _, n := range embedSizes {
			if n <= len(queries) {
				size = n
				break
			}
		}
		some, faults := embedSome(ctx, m, queries[:size])
		rows, errs, queries = append(rows, some...), append(errs, faults...), queries[size:]
	}
	return rows, errs
}

func embedSome(ctx context.Context, m *vernier.Model, queries []Query) (rows [][]float32, errs []error) {
	images := make([]vernier.Image, len(queries))
	for i, q := range queries {
		if images[i] = vernier.Bytes(q.File); q.Row != nil {
			images[i] = vernier.Row(q.Row)
		}
	}
	errs = make([]error, len(queries))
	rows, err := m.Embed(ctx, images...)
	if rows == nil {
		rows = make([][]float32, len(queries))
		for i := range errs {
			errs[i] = err
		}
		return rows, errs
	}
	for i, row := range rows {
		if row == nil {
			errs[i] = &QueryError{reason(err, i)}
		}
	}
	return rows, errs
}

// reason is why one image of several was not embedded.
func reason(err error, index int) error {
	var all interface{ Unwrap() []error }
	if errors.As(err, &all) {
		for _, e := range all.Unwrap() {
			if of := (*vernier.ImageError)(nil); errors.As(e, &of) && of.Index == index {
				return of.Err
			}
		}
	}
	return err
}
