package weights

import (
	"errors"
	"fmt"
)

// Object is the class of an object in a PyTorch file that stayed unread, such as
// "argparse.Namespace". Nothing of the class runs, and its attributes are not
// looked at.
type Object string

func (o Object) String() string { return string(o) + " (not read)" }

// pyObject is an object of a class that this package does not know. What the
// pickle puts into one as into a dictionary or a list is kept, since tensors may be
// among it: classes that extend dict and list are written so.
type pyObject struct {
	class string
	// module marks objects that are networks saved as a whole.
	module bool
	// script marks modules of a TorchScript archive, whose attributes are in keyed.
	script bool
	keyed  pyDict
	list   pyList
}

// isModule reports whether attributes are those of a torch.nn.Module.
func (d *pyDict) isModule() bool {
	_, parameters := d.get("_parameters")
	_, modules := d.get("_modules")
	return parameters && modules
}

// dictOf returns the dictionary that a value is, or that is in it.
func dictOf(v any) (*pyDict, bool) {
	switch v := v.(type) {
	case *pyDict:
		return v, true
	case *pyObject:
		return &v.keyed, true
	}
	return nil, false
}

// listOf returns the list that a value is, or that is in it.
func listOf(v any) (*pyList, bool) {
	switch v := v.(type) {
	case *pyList:
		return v, true
	case *pyObject:
		return &v.list, true
	}
	return nil, false
}

// objectCost is the memory of a pyObject.
const objectCost = 96

func (u *unpickler) newObject(class string) (any, error) {
	return &pyObject{class: class}, u.budget.take(objectCost)
}

// makesObject handles the opcodes that make an object of a class. Arguments of
// classes that are not known are dropped.
func (u *unpickler) makesObject(op byte) error {
	var class any
	var args []any
	var err error
	switch op {
	case 'i': // INST: the class is in the text
		if err := u.global('c'); err != nil {
			return err
		}
		if class, err = u.pop(); err != nil {
			return err
		}
		if args, err = u.popMark(); err != nil {
			return err
		}
	case 'o': // OBJ: the class is the first in the bracket
		if args, err = u.popMark(); err != nil {
			return err
		}
		if len(args) == 0 {
			return errStack
		}
		class, args = args[0], args[1:]
	default: // NEWOBJ and NEWOBJ_EX
		if op == 0x92 {
			if _, err := u.pop(); err != nil { // arguments by name
				return err
			}
		}
		given, err := u.pop()
		if err != nil {
			return err
		}
		if class, err = u.pop(); err != nil {
			return err
		}
		t, ok := given.(*tuple)
		if !ok {
			return fmt.Errorf("%w: an object of %s whose arguments are %s", ErrUnsafePickle, kindOf(class), kindOf(given))
		}
		args = t.items
	}
	v, err := u.call(class, args)
	if err != nil {
		return err
	}
	keep(v)
	return u.push(v)
}

// call stands for a call of fn. Nothing is executed: what a known global makes is
// made here, everything else is an unread object.
func (u *unpickler) call(fn any, args []any) (any, error) {
	switch fn := fn.(type) {
	case *pyGlobal:
		v, err := u.apply(fn, args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fn.name, err)
		}
		return v, nil
	case *pyObject: // a function or class that another call returned
		return u.newObject(fn.class)
	}
	return nil, fmt.Errorf("%w: it calls %s", ErrUnsafePickle, kindOf(fn))
}

// classID returns the class in a reference by which older versions of torch saved
// a class with its source: ("module", class, file, source).
func classID(id any) (*pyGlobal, bool) {
	t, ok := id.(*tuple)
	if !ok || len(t.items) < 2 || t.items[0] != "module" {
		return nil, false
	}
	class, ok := t.items[1].(*pyGlobal)
	return class, ok
}

var errWholeModule = errors.New("a whole module was saved, which only its own code can load; save model.state_dict() instead")
