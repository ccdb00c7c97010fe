package cpu

// left is the left factor of a product, m rows by k terms.
type left interface {
	// packRows writes rows [row, row+rows) and terms [p, p+depth) as panels of
	// kr.mr rows: term t of row r is dst[(r/mr)*mr*depth + t*mr + r%mr]. Rows that
	// fill the last panel are 0.
	packRows(kr *kernels, dst []float32, row, rows, p, depth int)
}

// acrossLeft is a left factor whose rows may be read where they lie.
type acrossLeft interface {
	left
	// across returns where terms from p on of a row lie beside each other, how far the
	// next row is, and how many terms there are.
	across(row, p int) (v []float32, stride, terms int)
}

// right is the right factor of a product, k terms by n columns.
type right interface {
	// packCols writes columns [col, col+cols) and terms [p, p+depth) as panels of
	// kr.nr columns: term t of column c is dst[(c/nr)*nr*depth + t*nr + c%nr].
	// Columns that fill the last vector are 0. col and p are multiples of nr.
	packCols(kr *kernels, w *workerScratch, dst []float32, col, cols, p, depth int)
}

// inPlace is a right factor that may be read where it lies.
type inPlace interface {
	// direct returns where columns [col, col+cols) of term p lie beside each other,
	// stride before those of the next term, if they do.
	direct(col, cols, p int) (v []float32, stride int)
}

// matrix is a row-major operand, transposed or not.
type matrix struct {
	v      []float32
	stride int
	trans  bool // the operand is the transpose of what v holds
}

func (m matrix) packRows(kr *kernels, dst []float32, row, rows, p, depth int) {
	m.pack(kr, dst, kr.mr, kr.mr, !m.trans, row, rows, p, depth)
}

func (m matrix) packCols(kr *kernels, _ *workerScratch, dst []float32, col, cols, p, depth int) {
	m.pack(kr, dst, kr.nr, kr.vec, m.trans, col, cols, p, depth)
}

func (m matrix) direct(col, _, p int) (v []float32, stride int) {
	if m.trans {
		return nil, 0
	}
	return m.v[p*m.stride+col:], m.stride
}

// packedRows is how many rows of a matrix are spread over panels at a time.
const packedRows = 32

// pack writes panels of size lines, each filled with zeros to a multiple of
// fill. The lines of the operand, rows on the left and columns on the right, are
// the rows of v if along is set.
func (m matrix) pack(kr *kernels, dst []float32, size, fill int, along bool, line, lines, p, depth int) {
	if along {
		for ; lines > 0; line, lines = line+size, lines-size {
			n := min(size, lines)
			kr.transpose(dst, size, m.v[line*m.stride+p:], m.stride, n, depth, roundUp(n, fill))
			dst = dst[min(size*depth, len(dst)):]
		}
		return
	}
	// A row of v is read for all panels before the next ones push it out of the cache.
	for t := 0; t < depth; t += packedRows {
		rows := min(packedRows, depth-t)
		for at := 0; at < lines; at += size {
			n := min(size, lines-at)
			kr.copyRows(dst[at*depth+t*size:], size, m.v[(p+t)*m.stride+line+at:], m.stride, rows, n, roundUp(n, fill))
		}
	}
}
