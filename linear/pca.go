package linear

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Principal returns the dim directions of largest variance of x, (dim, d), at
// unit length: x times its transpose keeps distances as well as any projection
// to dim columns can. dim beyond the rank of x gives as many as there are.
func Principal(x *mat.Dense, dim int) (*mat.Dense, error) {
	n, d := x.Dims()
	if dim < 1 {
		return nil, fmt.Errorf("%d principal components, want at least 1", dim)
	}
	_, s := centeredScatter(x, allRows(n))
	e, err := eigenOf(s)
	if err != nil {
		return nil, err
	}
	dim = min(dim, max(e.rank(), 1))
	p := mat.DenseCopyOf(e.vectors.Slice(0, d, 0, dim).T())
	fixSigns(p)
	return p, nil
}
