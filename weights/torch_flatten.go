package weights

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
)

// flattener turns the value of a pickle into named tensors and other values.
// Keys of nested dictionaries, and indices of lists that hold tensors, are joined
// by "/", those of TorchScript's modules by dots, as in a state dict.
type flattener struct {
	f      *File
	budget *budget
	// visits bounds the walk: values shared through the memo can make a small
	// pickle unfold without end.
	visits int
}

const (
	maxDepth = 64
	// maxVisits is far above the number of values in any checkpoint.
	maxVisits = 1 << 22
	// maxModules bounds the classes of networks that are remembered for a message.
	maxModules = 4
)

var errVisits = errors.New("its values refer to each other so often that they unfold without end")

// flatten fills f from the value of a pickle in which n tensors were built.
func flatten(f *File, root any, n int, b *budget) error {
	if err := b.take(tensorCost * int64(n)); err != nil {
		return err
	}
	f.tensors = make([]Tensor, 0, n)
	f.index = make(map[string]int32, n)
	w := &flattener{f: f, budget: b}
	if err := w.walk("", root, 0); err != nil {
		return err
	}
	if len(f.tensors) == 0 && len(f.modules) > 0 {
		return fmt.Errorf("%w: it holds %s: %w", ErrUnsafePickle, f.modules[0], errWholeModule)
	}
	return nil
}

func (w *flattener) visit(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("values are nested more than %d levels deep", maxDepth)
	}
	if w.visits++; w.visits > maxVisits {
		return errVisits
	}
	return nil
}

// walk adds v and everything below it under the given name.
func (w *flattener) walk(name string, v any, depth int) error {
	if err := w.visit(depth); err != nil {
		return err
	}
	switch v := v.(type) {
	case *pyTensor:
		return w.add(name, v)
	case *pyDict:
		return w.dictionary(name, v, depth)
	case *pyObject:
		if v.module && len(w.f.modules) < maxModules {
			w.f.modules = append(w.f.modules, v.class)
		}
		if v.script {
			return w.scriptModule(name, v, depth)
		}
		if v.keyed.len() > 0 {
			return w.dictionary(name, &v.keyed, depth)
		}
	}
	if items, ok := asItems(v); ok {
		tensors, err := w.holdsTensor(v, depth)
		if err != nil {
			return err
		}
		if tensors {
			for i, item := range items {
				if err := w.child(name, "/", strconv.Itoa(i), item, depth); err != nil {
					return err
				}
			}
			return nil
		}
	}
	p, err := w.plain(v, depth)
	if err != nil {
		return err
	}
	w.f.values[name] = p
	return w.budget.take(objectSize)
}

func (w *flattener) dictionary(name string, d *pyDict, depth int) error {
	for i := 0; i < len(d.items); i += 2 {
		if err := w.child(name, "/", keyText(d.items[i], i/2), d.items[i+1], depth); err != nil {
			return err
		}
	}
	return nil
}

// scriptModule adds the attributes of a module that are tensors and modules, and of the
// whole network also its others, but for what every module has.
func (w *flattener) scriptModule(name string, m *pyObject, depth int) error {
	for i := 0; i < len(m.keyed.items); i += 2 {
		key := keyText(m.keyed.items[i], i/2)
		v := m.keyed.items[i+1]
		if key == "training" || key == "_is_full_backward_hook" {
			continue
		}
		if depth > 0 {
			if tensors, err := w.holdsTensor(v, depth); err != nil {
				return err
			} else if !tensors {
				continue
			}
		}
		if err := w.child(name, ".", key, v, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *flattener) child(name, separator, key string, v any, depth int) error {
	if depth > 0 {
		if err := w.budget.take(int64(len(name) + len(key) + 1)); err != nil {
			return err
		}
		key = name + separator + key
	}
	return w.walk(key, v, depth+1)
}

func (w *flattener) add(name string, t *pyTensor) error {
	if _, twice := w.f.index[name]; twice {
		return fmt.Errorf("the tensor %q appears twice", name)
	}
	if len(w.f.tensors) == cap(w.f.tensors) { // one tensor under several names
		if err := w.budget.take(2 * tensorCost * int64(len(w.f.tensors)+1)); err != nil {
			return err
		}
		w.f.tensors = append(make([]Tensor, 0, 2*len(w.f.tensors)+1), w.f.tensors...)
	}
	w.f.index[name] = int32(len(w.f.tensors))
	tensor, err := t.tensor(name)
	if err != nil {
		return err
	}
	w.f.tensors = append(w.f.tensors, tensor)
	return nil
}

// keyText returns the text of the dictionary key of an index. Keys of other types,
// which beside a state dict may be anything, are numbered.
func keyText(k any, index int) string {
	switch k := k.(type) {
	case string:
		return k
	case int64:
		return strconv.FormatInt(k, 10)
	case bool:
		return strconv.FormatBool(k)
	case float64:
		return strconv.FormatFloat(k, 'g', -1, 64)
	case nil:
		return "None"
	}
	return fmt.Sprintf("key %d, %s", index, kindOf(k))
}

// holdsTensor reports whether a tensor lies in v.
func (w *flattener) holdsTensor(v any, depth int) (bool, error) {
	if err := w.visit(depth); err != nil {
		return false, err
	}
	var inside []any
	switch v := v.(type) {
	case *pyTensor:
		return true, nil
	case *pyDict:
		inside = v.items
	case *pyObject:
		inside = v.keyed.items
		if len(inside) == 0 {
			inside = v.list.items
		}
	default:
		inside, _ = asItems(v)
	}
	for _, x := range inside {
		if found, err := w.holdsTensor(x, depth+1); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// plain converts a value without tensors to nil, bool, int64, *big.Int, float64,
// string, []byte, Object, []any or map[string]any.
func (w *flattener) plain(v any, depth int) (any, error) {
	if err := w.visit(depth); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil, bool, int64, *big.Int, float64, string, []byte:
		return v, nil
	case *pyGlobal:
		return v.name, nil
	case *pyStorage:
		return "storage " + v.key, w.budget.take(int64(len(v.key)) + objectSize)
	case *pyDict:
		return w.plainDict(v, depth)
	case *pyObject:
		switch {
		case v.keyed.len() > 0:
			return w.plainDict(&v.keyed, depth)
		case len(v.list.items) == 0:
			return Object(v.class), w.budget.take(objectSize)
		}
	}
	items, ok := asItems(v)
	if !ok {
		return nil, fmt.Errorf("a value that is %s", kindOf(v))
	}
	if err := w.budget.take(objectSize + slotSize*int64(len(items))); err != nil {
		return nil, err
	}
	list := make([]any, len(items))
	for i, x := range items {
		var err error
		if list[i], err = w.plain(x, depth+1); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (w *flattener) plainDict(d *pyDict, depth int) (any, error) {
	if err := w.budget.take(2 * objectSize * int64(d.len()+1)); err != nil {
		return nil, err
	}
	m := make(map[string]any, d.len())
	for i := 0; i < len(d.items); i += 2 {
		key := keyText(d.items[i], i/2)
		err := w.budget.take(int64(len(key)))
		if err != nil {
			return nil, err
		}
		if m[key], err = w.plain(d.items[i+1], depth+1); err != nil {
			return nil, err
		}
	}
	return m, nil
}
