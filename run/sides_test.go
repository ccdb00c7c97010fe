package run

import (
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
)

func TestSidesOfReIdentification(t *testing.T) {
	x := &eval.Embeddings{X: []float32{0, 1, 2, 3}, N: 4, H: 1, Labels: []int{0, 0, 1, 1}}
	items := []data.Item{{Role: data.QueryRole, Group: 2}, {Role: data.GalleryRole, Group: 1}, {Role: data.GalleryRole, Group: 2}, {Role: data.GalleryRole}}
	q, g, groups := sides(items, x)
	if q.N != 1 || g.N != 3 || !slices.Equal(g.X, []float32{1, 2, 3}) || !slices.Equal(groups.Queries, []int{2}) || !slices.Equal(groups.Gallery, []int{1, 2, -4}) {
		t.Errorf("%+v %+v %+v", q, g, groups)
	}
	for i := range items {
		items[i].Role = data.AnyRole
	}
	if q, g, groups := sides(items, x); q != x || g != nil || !slices.Equal(groups.Gallery, []int{2, 1, 2, -4}) {
		t.Errorf("without roles: %+v %+v %+v", q, g, groups)
	}
	if q, g, groups := sides(make([]data.Item, 4), x); q != x || g != nil || groups != nil {
		t.Errorf("without groups: %+v %+v %+v", q, g, groups)
	}
}
