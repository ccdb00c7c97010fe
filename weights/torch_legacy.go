package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
)

const (
	// legacyMagic is the number in the first pickle of the legacy format.
	legacyMagic    = "119547037146038801333356"
	legacyProtocol = 1001
)

// readTorchLegacy reads the format of torch.save before 1.6: a stream of five
// pickles (magic number, protocol, system, object, storage keys), then each
// storage as its number of elements (int64) and its bytes, in the order of the
// keys.
func readTorchLegacy(f *File, src io.ReaderAt, size int64, b *budget) error {
	f.format = FormatTorchLegacy
	l := &legacyReader{
		r: newPickleReader(src, size), budget: b, storages: map[string]*pyStorage{},
		data: &blob{scratch: new(scratch), src: src, pack: size, size: size, limit: unfoldLimit(size), what: "file"},
	}
	if err := l.preamble(); err != nil {
		return err
	}
	root, err := l.pickle("the saved object", l.storage)
	if err != nil {
		return err
	}
	keys, err := l.pickle("the list of storages", nil)
	if err != nil {
		return err
	}
	if err := l.locate(keys); err != nil {
		return err
	}
	return flatten(f, root, l.tensors, b)
}

type legacyReader struct {
	r        *pickleReader
	budget   *budget
	storages map[string]*pyStorage // whole ones, by key
	views    []*pyStorage
	data     *blob
	tensors  int
}

func (l *legacyReader) pickle(what string, persistent func(any) (any, error)) (any, error) {
	u := &unpickler{r: l.r, budget: l.budget, persistent: persistent}
	v, err := u.run()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	l.tensors += u.tensors
	return v, nil
}

func (l *legacyReader) preamble() error {
	magic, err := l.pickle("the magic number", nil)
	if err != nil {
		return err
	}
	if m, ok := magic.(*big.Int); !ok || m.String() != legacyMagic {
		return errors.New("a Python pickle, but not one that torch.save wrote")
	}
	protocol, err := l.pickle("the protocol version", nil)
	if err != nil {
		return err
	}
	if p, ok := protocol.(int64); !ok || p != legacyProtocol {
		return fmt.Errorf("protocol version %v instead of %d", protocol, legacyProtocol)
	}
	system, err := l.pickle("the description of the system", nil)
	if err != nil {
		return err
	}
	if d, ok := system.(*pyDict); ok {
		if little, ok := d.get("little_endian"); ok && little != true {
			return errors.New("the file is from a big-endian machine; only little-endian files are read")
		}
		return nil
	}
	return fmt.Errorf("the description of the system is %s instead of a dictionary", kindOf(system))
}

// storage turns a reference into a storage, the same one for the same key.
func (l *legacyReader) storage(id any) (any, error) {
	if class, ok := classID(id); ok {
		return class, nil
	}
	s, view, err := storageID(id)
	if err != nil {
		return nil, err
	}
	if _, err := s.bytes(); err != nil {
		return nil, err
	}
	if err := l.budget.take(storageCost); err != nil {
		return nil, err
	}
	root, known := l.storages[s.key]
	if !known {
		root = s
		l.storages[s.key] = s
	} else if root.dtype != s.dtype || root.elems != s.elems {
		return nil, fmt.Errorf("storage %q is once %d elements of %v, once %d of %v", s.key, root.elems, root.dtype, s.elems, s.dtype)
	}
	if view == nil {
		return root, nil
	}
	// (key of the view, offset, elements): a slice of the storage.
	part, ok := view.(*tuple)
	if !ok || len(part.items) != 3 {
		return nil, fmt.Errorf("storage %q: its view is %s instead of a tuple of 3", s.key, kindOf(view))
	}
	args := part.items
	key, ok1 := args[0].(string)
	off, ok2 := args[1].(int64)
	elems, ok3 := args[2].(int64)
	if !ok1 || !ok2 || !ok3 || off < 0 || elems < 0 || off > root.elems || elems > root.elems-off {
		return nil, fmt.Errorf("storage %q: a view of %v elements at %v does not lie in its %d", s.key, args[2], args[1], root.elems)
	}
	v := &pyStorage{key: key, dtype: root.dtype, elems: elems, untyped: root.untyped, root: root, rootOff: off}
	l.views = append(l.views, v)
	return v, nil
}

// locate finds the storages behind the last pickle.
func (l *legacyReader) locate(keys any) error {
	list, ok := keys.(*pyList)
	if !ok {
		return fmt.Errorf("the list of storages is %s", kindOf(keys))
	}
	off := l.r.offset()
	for _, k := range list.items {
		key, ok := k.(string)
		if !ok {
			return fmt.Errorf("a storage key is %s instead of a string", kindOf(k))
		}
		s := l.storages[key]
		if s == nil {
			return fmt.Errorf("storage %q belongs to no tensor, so that its type and size are unknown", key)
		}
		if s.data != nil {
			return fmt.Errorf("storage %q is listed twice", key)
		}
		var head [8]byte
		if off > l.data.size-8 || readAt(l.data.src, head[:], off) != nil {
			return fmt.Errorf("storage %q: the file ends before its size", key)
		}
		if n := int64(binary.LittleEndian.Uint64(head[:])); n != s.elems {
			return fmt.Errorf("storage %q has %d elements, its tensors expect %d", key, n, s.elems)
		}
		off += 8
		size, err := s.bytes()
		if err != nil {
			return err
		}
		if size > l.data.size-off {
			return fmt.Errorf("storage %q has %d bytes, of which the file holds %d: it is cut off", key, size, l.data.size-off)
		}
		s.data, s.off = l.data, off
		off += size
	}
	for _, v := range l.views {
		if v.root.data != nil {
			v.data, v.off = v.root.data, v.root.off+v.rootOff*int64(v.dtype.Bits()/8)
		}
	}
	return nil
}
