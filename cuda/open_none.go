//go:build !gpu || !linux || !cgo

package cuda

// Open says that this program was built without the GPU engine.
func Open(Options) (*Engine, error) {
	r, err := Examine()
	if err != nil {
		return nil, err
	}
	return nil, r.Err()
}

// OpenFirst says the same.
func OpenFirst(opt Options) (*Engine, []error, error) {
	e, err := Open(opt)
	return e, nil, err
}
