package weights

import (
	"errors"
	"fmt"
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
		keep(v)
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
	case 'i', 'o', 0x81, 0x92:
		return true, u.makesObject(op)
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
	t, err := u.newTuple(items)
	if err != nil {
		return err
	}
	return u.push(t)
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
	if op == 'l' || op == 0x91 { // LIST and FROZENSET make a new one
		own, err := u.grow(nil, items...)
		if err != nil {
			return err
		}
		return u.object(&pyList{own})
	}
	target, err := u.top()
	if err != nil {
		return err
	}
	l, ok := listOf(target)
	if !ok {
		return fmt.Errorf("items are appended to %s", kindOf(target))
	}
	l.items, err = u.grow(l.items, items...)
	return err
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
	if op == 'd' {
		d := &pyDict{}
		if err := u.setItems(d, items); err != nil {
			return err
		}
		return u.object(d)
	}
	target, err := u.top()
	if err != nil {
		return err
	}
	d, ok := dictOf(target)
	if !ok {
		return fmt.Errorf("keys are set in %s", kindOf(target))
	}
	return u.setItems(d, items)
}

// setItems sets keys and values that alternate.
func (u *unpickler) setItems(d *pyDict, items []any) (err error) {
	d.items, err = u.grow(d.items, items...)
	return err
}

// memory stores values under numbers and fetches them. Python stores nearly
// everything and fetches little; what scan did not see fetched is not stored.
func (u *unpickler) memory(op byte) error {
	if op == 'h' || op == 'j' {
		slot, err := u.length(operandWidth(op))
		if err != nil {
			return err
		}
		v, ok := u.memo[uint32(slot)]
		if !ok || v == (emptySlot{}) {
			return fmt.Errorf("memo slot %d is read but was never written", slot)
		}
		return u.push(v)
	}
	slot := u.stored
	u.stored++
	if op != 0x94 { // MEMOIZE takes the next number
		n, err := u.length(operandWidth(op))
		if err != nil {
			return err
		}
		slot = uint32(n)
	}
	v, err := u.top()
	if err != nil {
		return err
	}
	if _, fetched := u.memo[slot]; fetched {
		keep(v)
		u.memo[slot] = v
	}
	return nil
}
