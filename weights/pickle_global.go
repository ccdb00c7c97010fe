package weights

import (
	"errors"
	"fmt"
	"strings"
)

// global looks up a name (GLOBAL, STACK_GLOBAL) in the list of known ones.
func (u *unpickler) global(op byte) error {
	var module, name string
	if op == 'c' {
		var err error
		if module, err = u.r.line(); err != nil {
			return err
		}
		if name, err = u.r.line(); err != nil {
			return err
		}
	} else {
		n, err := u.pop()
		if err != nil {
			return err
		}
		m, err := u.pop()
		if err != nil {
			return err
		}
		var ok1, ok2 bool
		module, ok1 = m.(string)
		name, ok2 = n.(string)
		if !ok1 || !ok2 || len(module) > maxLine || len(name) > maxLine {
			return errors.New("the name of a global is not a short string")
		}
	}
	if module == "__builtin__" { // Python 2, and protocol 2
		module = "builtins"
	}
	g, ok := knownGlobal(module, name)
	switch {
	case ok:
	case runsCode(module, name):
		return refuseGlobal(module, name)
	default:
		if err := u.budget.take(int64(len(module) + len(name))); err != nil {
			return err
		}
		g = &pyGlobal{name: strings.ToValidUTF8(module+"."+name, "?"), kind: globalInert}
	}
	if err := u.budget.take(objectSize); err != nil {
		return err
	}
	return u.object(g)
}

func refuseGlobal(module, name string) error {
	full := strings.ToValidUTF8(module+"."+name, "?")
	if makesTensors(module) {
		return fmt.Errorf("%w: it names %s, and tensors of this kind (quantized, sparse or spread over devices) are not read; save dense tensors", ErrUnsafePickle, full)
	}
	return fmt.Errorf("%w: it names %s, which only an attack has a use for (nothing was executed); if you trust its source, load it in Python and save the state_dict alone", ErrUnsafePickle, full)
}

func (u *unpickler) persistentID() error {
	id, err := u.pop()
	if err != nil {
		return err
	}
	if u.persistent == nil {
		return errors.New("a reference to data outside the pickle")
	}
	v, err := u.persistent(id)
	if err != nil {
		return err
	}
	if t, ok := id.(*tuple); ok {
		u.release(t)
	}
	return u.push(v)
}

// build sets the state of an object. State dicts carry their version numbers in
// an attribute of the OrderedDict, which loading does not need; the attributes of
// unread objects are dropped, but for those of TorchScript's modules.
func (u *unpickler) build() error {
	state, err := u.pop()
	if err != nil {
		return err
	}
	target, err := u.top()
	if err != nil {
		return err
	}
	attributes, ok := state.(*pyDict)
	switch target := target.(type) {
	case *pyObject:
		switch {
		case ok && u.script && strings.HasPrefix(target.class, "__torch__."):
			target.script = true
			return u.setItems(&target.keyed, attributes.items)
		case ok && attributes.isModule():
			target.module = true
		}
		return nil
	case *pyDict, *pyTensor:
		if ok {
			return nil
		}
	}
	return fmt.Errorf("%w: it sets the state of %s by %s", ErrUnsafePickle, kindOf(target), kindOf(state))
}

// kindOf names a value for messages.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case *tuple:
		return fmt.Sprintf("a tuple of %d", len(v.items))
	case *pyList:
		return "a list"
	case *pyDict:
		return "a dictionary"
	case *pyGlobal:
		return v.name
	case *pyObject:
		return v.class
	case *pyStorage:
		return "a storage"
	case *pyTensor:
		return "a tensor"
	case string:
		return "a string"
	case []byte:
		return "bytes"
	}
	return fmt.Sprintf("a %T", v)
}
