package weights

// tuple is a Python tuple. Tensors are built from nested tuples that nothing
// needs afterwards; they are used again for the next tensor, so that a pickle of
// many tensors does not churn through memory.
type tuple struct {
	items []any
	// kept marks tuples that may be reached by more than the place on the stack
	// or in another tuple where they were built.
	kept bool
}

const (
	tupleSize = 32
	// More of them are left to the garbage collector.
	maxReused = 16
)

// newTuple copies items into a new or used tuple.
func (u *unpickler) newTuple(items []any) (*tuple, error) {
	for i, t := range u.free {
		if cap(t.items) < len(items) {
			continue
		}
		last := len(u.free) - 1
		u.free[i], u.free = u.free[last], u.free[:last]
		t.items = append(t.items, items...)
		return t, nil
	}
	if err := u.budget.take(tupleSize + slotSize*int64(len(items))); err != nil {
		return nil, err
	}
	return &tuple{items: append(make([]any, 0, len(items)), items...)}, nil
}

// release takes back the arguments of a call that has returned, with the tuples
// directly in them.
func (u *unpickler) release(t *tuple) {
	if t.kept {
		return
	}
	for _, x := range t.items {
		if inner, ok := x.(*tuple); ok && !inner.kept {
			u.reuse(inner)
		}
	}
	u.reuse(t)
}

func (u *unpickler) reuse(t *tuple) {
	if len(u.free) < maxReused {
		clear(t.items)
		t.items = t.items[:0]
		u.free = append(u.free, t)
	}
}

// keep marks a tuple that gets a second reference.
func keep(v any) {
	if t, ok := v.(*tuple); ok {
		t.kept = true
	}
}
