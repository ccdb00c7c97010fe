package weights

import "errors"

// emptySlot stands in memo slots that have not been stored yet.
type emptySlot struct{}

// scan goes over the pickle once, building nothing, to learn which memo slots it
// fetches, and returns to where it began. It leaves all complaints but that of
// memory to run, which meets the same bytes.
func (u *unpickler) scan() error {
	start := u.r.offset()
	u.memo = map[uint32]any{}
	for {
		op, err := u.r.byte()
		if err != nil || op == '.' {
			break
		}
		if op == 'h' || op == 'j' {
			slot, err := u.length(operandWidth(op))
			if err != nil {
				break
			}
			if _, known := u.memo[uint32(slot)]; known {
				continue
			}
			// 112: a slot of a map that doubles.
			if err := u.budget.take(112); err != nil {
				return err
			}
			u.memo[uint32(slot)] = emptySlot{}
			continue
		}
		if err := u.skipOperand(op); err != nil {
			break
		}
	}
	u.r.seek(start)
	return nil
}

var errOpcode = errors.New("an opcode without a known operand")

// skipOperand passes over what follows an opcode.
func (u *unpickler) skipOperand(op byte) error {
	switch op {
	case 0x80: // PROTO
		return u.r.skip(1)
	case 0x95: // FRAME
		return u.r.skip(8)
	case 'K', 'M', 'J', 'G', 'q', 'r':
		return u.r.skip(uint64(operandWidth(op)))
	case 'U', 'T', 'C', 'B', 'X', 0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x96:
		n, err := u.length(operandWidth(op))
		if err != nil {
			return err
		}
		return u.r.skip(n)
	case 'c', 'i': // GLOBAL, INST
		if _, err := u.r.line(); err != nil {
			return err
		}
		_, err := u.r.line()
		return err
	case '(', '0', '1', '2', 'N', 0x88, 0x89, ']', ')', '}', 0x8f, 't', 0x85, 0x86, 0x87, 'a', 'e', 'l', 0x90, 0x91,
		's', 'u', 'd', 0x94, 0x93, 'R', 'b', 'Q', 'o', 0x81, 0x92:
		return nil
	}
	return errOpcode
}
