package weights

import (
	"errors"
	"fmt"
	"strings"
)

// structure handles opcodes that combine values.
func (u *unpickler) structure(op byte) (known bool, err error) {
	switch op {
	case 0x80: // PROTO
		p, err := u.r.byte()
		if err == nil && p > 5 {
			err = fmt.Errorf("pickle protocol %d, known are up to 5", p)
		}
		return true, err
	case 0x95: // FRAME: a hint for buffering
		_, err := u.r.bytes(8)
		return true, err
	case '(':
		if len(u.marks) == maxMarks {
			return true, fmt.Errorf("more than %d brackets are open", maxMarks)
		}
		u.marks = append(u.marks, len(u.stack))
		return true, nil
	case '0':
		_, err := u.pop()
		return true, err
	case '1':
		_, err := u.popMark()
		return true, err
	case '2':
		v, err := u.top()
		if err != nil {
			return true, err
		}
		return true, u.push(v)
	case 't', 0x85, 0x86, 0x87:
		return true, u.tuple(op)
	case 'a', 'e', 'l', 0x90, 0x91:
		return true, u.list(op)
	case 's', 'u', 'd':
		return true, u.dict(op)
	case 'q', 'r', 0x94, 'h', 'j':
		return true, u.memory(op)
	case 'c', 0x93:
		return true, u.global(op)
	case 'R':
		return true, u.reduce()
	case 'b':
		return true, u.build()
	case 'Q':
		return true, u.persistentID()
	}
	return false, nil
}

func (u *unpickler) tuple(op byte) error {
	var items []any
	if op == 't' {
		var err error
		if items, err = u.popMark(); err != nil {
			return err
		}
	} else {
		n := int(op) - 0x84
		if len(u.stack)-u.floor() < n {
			return errStack
		}
		items = u.stack[len(u.stack)-n:]
		u.stack = u.stack[:len(u.stack)-n]
	}
	if err := u.budget.take(slotSize * int64(len(items))); err != nil {
		return err
	}
	return u.object(append(pyTuple(nil), items...))
}

// list handles lists and sets, which are kept alike.
func (u *unpickler) list(op byte) error {
	var items []any
	if op == 'a' {
		v, err := u.pop()
		if err != nil {
			return err
		}
		items = []any{v}
	} else {
		var err error
		if items, err = u.popMark(); err != nil {
			return err
		}
	}
	// append may double the room.
	if err := u.budget.take(2 * slotSize * int64(len(items))); err != nil {
		return err
	}
	if op == 'l' || op == 0x91 { // LIST and FROZENSET make a new one
		return u.object(&pyList{append([]any(nil), items...)})
	}
	target, err := u.top()
	if err != nil {
		return err
	}
	l, ok := target.(*pyList)
	if !ok {
		return fmt.Errorf("items are appended to %s", kindOf(target))
	}
	l.items = append(l.items, items...)
	return nil
}

func (u *unpickler) dict(op byte) error {
	var items []any
	if op == 's' {
		v, err := u.pop()
		if err != nil {
			return err
		}
		k, err := u.pop()
		if err != nil {
			return err
		}
		items = []any{k, v}
	} else {
		var err error
		if items, err = u.popMark(); err != nil {
			return err
		}
	}
	if len(items)%2 != 0 {
		return errors.New("a dictionary gets a key without a value")
	}
	if err := u.budget.take(2 * slotSize * int64(len(items))); err != nil {
		return err
	}
	if op == 'd' {
		d := &pyDict{}
		d.fill(items)
		return u.object(d)
	}
	target, err := u.top()
	if err != nil {
		return err
	}
	d, ok := target.(*pyDict)
	if !ok {
		return fmt.Errorf("keys are set in %s", kindOf(target))
	}
	d.fill(items)
	return nil
}

func (d *pyDict) fill(items []any) {
	for i := 0; i < len(items); i += 2 {
		d.set(items[i], items[i+1])
	}
}

// memory stores values in and fetches them from numbered slots.
func (u *unpickler) memory(op byte) error {
	slot := uint32(len(u.memo))
	if op != 0x94 { // MEMOIZE takes the next slot
		n, err := u.length(operandWidth(op))
		if err != nil {
			return err
		}
		slot = uint32(n)
	}
	if op == 'h' || op == 'j' {
		if int64(slot) >= int64(len(u.memo)) || u.memo[slot] == (emptySlot{}) {
			return fmt.Errorf("memo slot %d is read but was never written", slot)
		}
		return u.push(u.memo[slot])
	}
	v, err := u.top()
	if err != nil {
		return err
	}
	if grow := int64(slot) + 1 - int64(len(u.memo)); grow > 0 {
		if err := u.budget.take(2 * slotSize * grow); err != nil {
			return fmt.Errorf("memo slot %d: %w", slot, err)
		}
		for range grow {
			u.memo = append(u.memo, emptySlot{})
		}
	}
	u.memo[slot] = v
	return nil
}

// emptySlot stands in memo slots that were passed over.
type emptySlot struct{}

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
	if !ok {
		return refuseGlobal(module, name)
	}
	if err := u.budget.take(objectSize); err != nil {
		return err
	}
	return u.object(g)
}

func refuseGlobal(module, name string) error {
	full := strings.ToValidUTF8(module+"."+name, "?")
	for _, p := range []string{"torch.nn.", "torchvision.", "timm.", "__torch__", "__main__"} {
		if strings.HasPrefix(full, p) {
			return fmt.Errorf("%w: it names %s, so a whole module was saved, which only its own code can load; save model.state_dict() instead", ErrUnsafePickle, full)
		}
	}
	return fmt.Errorf("%w: it names %s, which is refused (nothing was executed); if you trust its source, load it in Python and save the state_dict alone", ErrUnsafePickle, full)
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
	if err := u.budget.take(2 * objectSize); err != nil {
		return err
	}
	return u.push(v)
}

// build sets the state of an object. State dicts carry their version numbers in
// an attribute of the OrderedDict, which loading does not need.
func (u *unpickler) build() error {
	state, err := u.pop()
	if err != nil {
		return err
	}
	target, err := u.top()
	if err != nil {
		return err
	}
	if _, ok := state.(*pyDict); ok {
		switch target.(type) {
		case *pyDict, *pyTensor:
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
	case pyTuple:
		return fmt.Sprintf("a tuple of %d", len(v))
	case *pyList:
		return "a list"
	case *pyDict:
		return "a dictionary"
	case *pyGlobal:
		return v.name
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
