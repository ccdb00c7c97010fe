package weights

import (
	"errors"
	"fmt"
	"unsafe"
)

// reduce applies a known global to its arguments.
func (u *unpickler) reduce() error {
	argv, err := u.pop()
	if err != nil {
		return err
	}
	fn, err := u.pop()
	if err != nil {
		return err
	}
	args, ok := argv.(*tuple)
	if !ok {
		return fmt.Errorf("%w: a call whose arguments are %s", ErrUnsafePickle, kindOf(argv))
	}
	v, err := u.call(fn, args.items)
	if err != nil {
		return err
	}
	keep(v)
	u.release(args)
	return u.push(v)
}

func (u *unpickler) apply(g *pyGlobal, args []any) (any, error) {
	switch g.kind {
	case globalInert:
		return u.newObject(g.name)
	case globalDict:
		return u.newDict(args)
	case globalDefaultDict: // (function that makes values)
		return u.newDict(nil)
	case globalSet:
		if len(args) == 0 {
			return &pyList{}, u.budget.take(objectSize)
		}
		if len(args) == 1 {
			if l, ok := args[0].(*pyList); ok {
				return l, nil
			}
		}
	case globalSize:
		if len(args) == 1 {
			if t, ok := args[0].(*tuple); ok {
				return t, nil
			}
		}
	case globalDevice:
		if len(args) == 1 || len(args) == 2 {
			return args[0], nil
		}
	case globalTensor, globalTensorV2, globalTensorV3:
		return u.newTensor(g.kind, args)
	case globalParameter:
		if len(args) >= 1 {
			if t, ok := args[0].(*pyTensor); ok {
				return t, nil
			}
		}
	case globalFromType:
		// (function, type, arguments, state) of a tensor with attributes.
		if len(args) == 4 {
			fn, ok1 := args[0].(*pyGlobal)
			typ, ok2 := args[1].(*pyGlobal)
			inner, ok3 := args[2].(*tuple)
			if ok1 && ok2 && ok3 && (typ.kind == globalType || typ.kind == globalInert) && fn.kind >= globalTensor && fn.kind <= globalParameter {
				return u.apply(fn, inner.items)
			}
		}
	default:
		return nil, fmt.Errorf("%w: it is called, which no state dict needs", ErrUnsafePickle)
	}
	return nil, fmt.Errorf("it is called with %d arguments that do not fit it", len(args))
}

// newDict makes an OrderedDict or Counter from nothing, a dictionary, or a list
// of pairs (as Python 2 writes it).
func (u *unpickler) newDict(args []any) (any, error) {
	if err := u.budget.take(dictSize); err != nil {
		return nil, err
	}
	d := &pyDict{}
	if len(args) == 0 {
		return d, nil
	}
	if len(args) == 1 {
		switch from := args[0].(type) {
		case *pyDict:
			return d, u.setItems(d, from.items)
		case *pyList:
			for _, item := range from.items {
				pair, ok := asItems(item)
				if !ok || len(pair) != 2 {
					return nil, errors.New("its items are not pairs")
				}
				if err := u.setItems(d, pair); err != nil {
					return nil, err
				}
			}
			return d, nil
		}
	}
	return nil, fmt.Errorf("it is called with %d arguments that do not fit it", len(args))
}

// asItems returns the items of a tuple or list.
func asItems(v any) ([]any, bool) {
	switch v := v.(type) {
	case *tuple:
		return v.items, true
	case *pyList:
		return v.items, true
	case *pyObject:
		if len(v.list.items) > 0 {
			return v.list.items, true
		}
	}
	return nil, false
}

func (u *unpickler) newTensor(kind globalKind, args []any) (any, error) {
	least, most := 4, 4
	switch kind {
	case globalTensorV2:
		least, most = 6, 7
	case globalTensorV3:
		least, most = 7, 8
	}
	if len(args) < least || len(args) > most {
		return nil, fmt.Errorf("%d arguments instead of %d to %d", len(args), least, most)
	}
	s, ok := args[0].(*pyStorage)
	if !ok {
		return nil, fmt.Errorf("its storage is %s", kindOf(args[0]))
	}
	t := &pyTensor{storage: s, dtype: s.dtype}
	if t.offset, ok = args[1].(int64); !ok {
		return nil, fmt.Errorf("its offset is %s", kindOf(args[1]))
	}
	if err := u.budget.take(int64(unsafe.Sizeof(*t))); err != nil {
		return nil, err
	}
	u.tensors++
	var err error
	if t.size, err = u.ints(args[2]); err != nil {
		return nil, fmt.Errorf("its size: %w", err)
	}
	strides, err := u.ints(args[3])
	if err != nil {
		return nil, fmt.Errorf("its stride: %w", err)
	}
	if kind == globalTensorV3 {
		d, ok := args[6].(*pyGlobal)
		if !ok || d.kind != globalDType {
			return nil, fmt.Errorf("its dtype is %s", kindOf(args[6]))
		}
		t.dtype = d.dtype
	}
	if s.untyped != (kind == globalTensorV3) {
		return nil, errors.New("an untyped storage needs a dtype, a typed one has its own")
	}
	// metadata marks lazily conjugated or negated tensors.
	if len(args) > least && least > 4 {
		if m, ok := args[most-1].(*pyDict); args[most-1] != nil && (!ok || m.len() > 0) {
			return nil, errors.New("a lazily conjugated or negated tensor; call resolve_conj() or resolve_neg() before saving")
		}
	}
	if err := t.check(strides); err != nil {
		return nil, err
	}
	t.steps = stepsOf(t.size, strides)
	return t, nil
}

// ints returns a tuple or list of integers.
func (u *unpickler) ints(v any) ([]int, error) {
	items, ok := asItems(v)
	if !ok {
		return nil, fmt.Errorf("%s instead of a tuple", kindOf(v))
	}
	if len(items) > maxRank {
		return nil, fmt.Errorf("%d dimensions, at most %d are allowed", len(items), maxRank)
	}
	if err := u.budget.take(8 * int64(len(items))); err != nil {
		return nil, err
	}
	out := make([]int, len(items))
	for i, item := range items {
		n, ok := item.(int64)
		if !ok || int64(int(n)) != n {
			return nil, fmt.Errorf("%s instead of an integer", kindOf(item))
		}
		out[i] = int(n)
	}
	return out, nil
}

// check refuses tensors that reach outside their storage.
func (t *pyTensor) check(strides []int) error {
	fail := func(why string) error {
		return fmt.Errorf("a tensor of size %v, stride %v at offset %d of a storage of %d elements: %s",
			t.size, strides, t.offset, t.storage.elems, why)
	}
	if len(t.size) != len(strides) {
		return fail("size and stride have different lengths")
	}
	if t.offset < 0 {
		return fail("the offset is negative")
	}
	n, err := count(t.size)
	if err != nil {
		return fail(err.Error())
	}
	last, ok := t.offset, true
	for i, s := range strides {
		if s < 0 {
			return fail("a stride is negative")
		}
		if n == 0 {
			continue
		}
		span, fits := mul(int64(t.size[i]-1), int64(s))
		last += span
		ok = ok && fits && last >= 0
	}
	// Untyped storages count bytes.
	per := int64(1)
	if t.storage.untyped {
		per = int64(t.dtype.Bits() / 8)
		if per == 0 {
			return fail("packed elements have no strides")
		}
	}
	if n > 0 && (!ok || last >= t.storage.elems/per) {
		return fail("it reaches outside the storage")
	}
	if _, err := byteSize(n, t.dtype); err != nil {
		return fail(err.Error())
	}
	return nil
}
