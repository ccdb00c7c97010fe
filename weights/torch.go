package weights

import (
	"errors"
	"fmt"
	"unsafe"
)

// storageCost is the memory of a storage and its slot in a map of keys.
const storageCost = int64(unsafe.Sizeof(pyStorage{})) + 48

// storageID reads the tuple by which a pickle refers to a storage:
// ("storage", type, key, location, elements[, view]).
func storageID(id any) (s *pyStorage, view any, err error) {
	t, ok := id.(*tuple)
	if !ok || len(t.items) < 1 {
		return nil, nil, fmt.Errorf("a reference that is %s instead of a tuple", kindOf(id))
	}
	args := t.items
	switch args[0] {
	case "storage":
	case "module":
		return nil, nil, fmt.Errorf("%w: %w", ErrUnsafePickle, errWholeModule)
	default:
		return nil, nil, errors.New("a reference to something other than a storage")
	}
	if len(args) != 5 && len(args) != 6 {
		return nil, nil, fmt.Errorf("a storage reference of %d parts instead of 5 or 6", len(args))
	}
	g, ok1 := args[1].(*pyGlobal)
	key, ok2 := args[2].(string)
	elems, ok3 := args[4].(int64)
	if !ok1 || !ok2 || !ok3 || (g.kind != globalStorage && g.kind != globalUntyped) {
		return nil, nil, fmt.Errorf("a storage reference of (%s, %s, %s)", kindOf(args[1]), kindOf(args[2]), kindOf(args[4]))
	}
	if elems < 0 {
		return nil, nil, fmt.Errorf("storage %q has %d elements", key, elems)
	}
	s = &pyStorage{key: key, dtype: g.dtype, elems: elems, untyped: g.kind == globalUntyped}
	if s.untyped {
		s.dtype = Uint8
	}
	if len(args) == 6 {
		view = args[5]
	}
	return s, view, nil
}

// bytes returns the size of the storage.
func (s *pyStorage) bytes() (int64, error) {
	n, err := byteSize(s.elems, s.dtype)
	if err != nil {
		return 0, fmt.Errorf("storage %q: %w", s.key, err)
	}
	return n, nil
}

// tensor makes the tensor of a name, once the storage has been found.
func (t *pyTensor) tensor(name string) (Tensor, error) {
	data, start := t.storage.data, t.storage.off
	if data == nil {
		return Tensor{}, fmt.Errorf("tensor %q: the storage %q is not in the file", name, t.storage.key)
	}
	n, err := count(t.size)
	if err != nil {
		return Tensor{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	size, err := byteSize(n, t.dtype)
	if err != nil {
		return Tensor{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	width := max(t.dtype.Bits()/8, 1)
	v := view{data: data, off: start + t.offset*int64(width), nbytes: size, width: int32(width), steps: t.steps}
	return Tensor{Name: name, DType: t.dtype, Shape: t.size, data: v}, nil
}
