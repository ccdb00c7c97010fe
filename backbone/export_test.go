package backbone

// Unregister takes back what Register did.
func Unregister(name string) { registered.Remove(name) }

// ConvNeXtOf returns a ConvNeXt of given depths, with the width of the tiny one.
func ConvNeXtOf(depths [4]int) (Backbone, error) {
	return convNeXt{depths: depths, width: 96, resize: 236}.new(options{})
}

// ResNetOf returns a residual network of given depths.
func ResNetOf(depths [4]int, bottleneck bool) (Backbone, error) {
	return resNet{depths: depths, bottleneck: bottleneck}.new(options{})
}

// WithDepth returns a vision transformer with another number of blocks.
func WithDepth(b Backbone, depth int) Backbone {
	t := *b.(*transformer)
	t.depth = depth
	return &t
}

// ResampleGrid is what a transformer does with its table of positions.
func (p Positions) ResampleGrid(grid []float32, from, h, w, d int) []float32 {
	return p.resampleGrid(grid, from, h, w, d)
}

// Matrix is the same as rows of a matrix.
func (p Positions) Matrix(from, h, w int) []float32 { return p.matrix(from, h, w) }
