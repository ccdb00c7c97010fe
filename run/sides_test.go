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
	s := NewSides(items, x)
	if s.Queries.N != 1 || s.Gallery.N != 3 || !slices.Equal(s.Gallery.X, []float32{1, 2, 3}) || !slices.Equal(s.Groups.Queries, []int{2}) || !slices.Equal(s.Groups.Gallery, []int{1, 2, -4}) {
		t.Errorf("%+v", s)
	}
	if g, opt := s.Search(); g != s.Gallery || opt.Self != nil || opt.Groups != s.Groups {
		t.Errorf("search in %+v with %+v", g, opt)
	}
	if x, rows, groups := s.Both(); x.N != 4 || !slices.Equal(x.Labels, []int{0, 0, 1, 1}) || !slices.Equal(rows, []int{0, 1, 2, 3}) || !slices.Equal(groups, []int{2, 1, 2, -4}) {
		t.Errorf("both sides: %+v, rows %v of groups %v", x, rows, groups)
	}
	for i := range items {
		items[i].Role = data.AnyRole
	}
	if s = NewSides(items, x); s.Queries != x || s.Gallery != nil || !slices.Equal(s.Groups.Gallery, []int{2, 1, 2, -4}) {
		t.Errorf("without roles: %+v", s)
	}
	if s = NewSides(make([]data.Item, 4), x); s.Queries != x || s.Gallery != nil || s.Groups != nil {
		t.Errorf("without groups: %+v", s)
	}
	if g, opt := s.Search(); g != x || !slices.Equal(opt.Self, []int{0, 1, 2, 3}) || opt.Groups != nil {
		t.Errorf("without groups: search in %+v with %+v", g, opt)
	}
}
