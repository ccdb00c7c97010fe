package vernier

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// ErrOtherModel says that an index holds the embeddings of another model.
var ErrOtherModel = gallery.ErrOtherModel

// Index is the embeddings of many images, in memory. Its methods may be called by
// several goroutines at a time.
type Index struct {
	model *Model
	path  string
	table *gallery.Table
	rows  *gallery.Searcher
}

// Neighbor is an image of an index and its distance from a query.
type Neighbor struct {
	Row      int     // of the index, from 0
	Name     string  // the path of the image; empty if the index does not know it
	Class    string  // empty if the index does not know it
	Distance float64 // as Model.Distance
}

// Entry is an image with what an index keeps of it beside its embedding.
type Entry struct {
	Image Image
	Name  string // empty for the path of a File
	Class string // empty if it is not known
}

// AppendIndex embeds images and adds them to the index in a file, which it makes if it is
// not there. An image is known by the SHA-256 of its file, as to the command vernier index: the
// same image under another name is the same entry, and an image whose name the index has takes
// the place of that one. A Picture or Row has no file and is known by its name, or without one
// by its embedding. Once AppendIndex returns, the images are on the disk; if it does not, or
// with an error, none is. The error is ErrOtherModel if the index is another model's, and has
// an *ImageError for every image that cannot be decoded. Processes that add to an index take
// turns.
func (m *Model) AppendIndex(ctx context.Context, path string, entries ...Entry) error {
	if len(entries) == 0 {
		return nil
	}
	info, err := m.info(ctx)
	if err != nil {
		return err
	}
	images := make([]Image, len(entries))
	for i, e := range entries {
		images[i] = e.Image
	}
	rows, err := m.Embed(ctx, images...)
	if err != nil {
		return err
	}
	t := &gallery.Table{Embeddings: m.table(rows), Metric: info.Metric, Model: info.Model}
	for i, e := range entries {
		key, err := e.Image.key()
		if err != nil {
			return fmt.Errorf("vernier: %w", &ImageError{i, e.Image.name, err})
		}
		t.Keys = append(t.Keys, key)
		t.Paths = append(t.Paths, cmp.Or(nametext.Valid(e.Name), nametext.Encode(e.Image.name)))
		t.Classes = append(t.Classes, e.Class)
	}
	if _, err := gallery.Append(path, info, t); err != nil {
		return fmt.Errorf("vernier: %w", err)
	}
	return nil
}

// info says whose rows an index of the model's holds.
func (m *Model) info(ctx context.Context) (gallery.Info, error) {
	fingerprint, err := m.Fingerprint(ctx)
	return gallery.Info{Metric: m.Metric().String(), Model: fingerprint, Dim: m.Dim()}, err
}

// table copies embeddings, which have the model's length, into one piece.
func (m *Model) table(rows [][]float32) *eval.Embeddings {
	return &eval.Embeddings{X: slices.Concat(rows...), N: len(rows), H: m.Dim()}
}

// OpenIndex reads an index that vernier index made, and checks all of it. It also takes
// the folder of an export, and files of embeddings that name their model: parquet,
// safetensors, npz. The error is ErrOtherModel if another model made the rows.
// What is added to the file later is not seen.
func (m *Model) OpenIndex(path string) (*Index, error) {
	x, err := m.openIndex(path)
	if err != nil {
		return nil, fmt.Errorf("vernier: %w", err)
	}
	return x, nil
}

func (m *Model) openIndex(path string) (*Index, error) {
	table, err := gallery.Find(path)
	if err != nil {
		return nil, err
	}
	if table.Model == "" || table.Metric == "" {
		return nil, fmt.Errorf("%s does not say which model made its embeddings; if it was %s, vernier index RUN --from %[1]s --out FILE makes an index of them", path, m.name)
	}
	info, err := m.info(context.Background())
	if err != nil {
		return nil, err
	}
	rows, err := table.Searcher(m.model.Params.Engine(), info)
	if err != nil {
		return nil, fmt.Errorf("%s, opened with %s: %w", path, m.name, err)
	}
	return &Index{m, path, table, rows}, nil
}

// Len is the number of images.
func (x *Index) Len() int { return x.table.Rows() }

// Search embeds an image and returns the k images of the index that are nearest to it,
// the nearest first; fewer if the index has fewer. No image is missed: the search is exact.
func (x *Index) Search(ctx context.Context, query Image, k int) ([]Neighbor, error) {
	rows, err := x.model.Embed(ctx, query)
	if err != nil {
		return nil, err
	}
	near, err := x.SearchEmbeddings(ctx, rows, k)
	if err != nil {
		return nil, err
	}
	return near[0], nil
}

// SearchEmbeddings is Search for embeddings of the model's. It returns the neighbors of
// each, and is faster for many at once than for one after the other.
func (x *Index) SearchEmbeddings(ctx context.Context, rows [][]float32, k int) ([][]Neighbor, error) {
	for _, row := range rows {
		if err := x.model.checkLength(row); err != nil {
			return nil, err
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if err := x.model.lock(ctx); err != nil {
		return nil, err
	}
	defer x.model.unlock()
	hits, err := x.rows.Search(ctx, x.model.table(rows), k, eval.SearchOptions{})
	if err != nil {
		return nil, fmt.Errorf("vernier: %s: %w", x.path, err)
	}
	near := make([][]Neighbor, len(hits))
	for i, list := range hits {
		near[i] = make([]Neighbor, len(list))
		for j, h := range list {
			near[i][j] = Neighbor{h.Row, x.table.Path(h.Row), x.table.Class(h.Row), h.Distance}
		}
	}
	return near, nil
}
