package weights

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// npyHeader is the dictionary of a .npy file.
type npyHeader struct {
	dtype   DType
	width   int // bytes of an element
	swap    int // bytes to reverse, or 0
	fortran bool
	shape   []int
}

// parseNPYHeader reads the Python literal that NumPy writes:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
func parseNPYHeader(text string) (*npyHeader, error) {
	p := &literal{s: text}
	h := &npyHeader{}
	var seen [3]bool
	if err := p.expect('{'); err != nil {
		return nil, err
	}
	for p.peek() != '}' {
		key, err := p.quoted()
		if err != nil {
			return nil, err
		}
		if err := p.expect(':'); err != nil {
			return nil, err
		}
		i := 0
		switch key {
		case "descr":
			err = p.descr(h)
		case "fortran_order":
			i = 1
			h.fortran, err = p.boolean()
		case "shape":
			i = 2
			h.shape, err = p.tuple()
		default:
			err = fmt.Errorf("the unknown key %q", key)
		}
		if err != nil {
			return nil, err
		}
		if seen[i] {
			return nil, fmt.Errorf("the key %q appears twice", key)
		}
		seen[i] = true
		if p.peek() != '}' {
			if err := p.expect(','); err != nil {
				return nil, err
			}
		}
	}
	p.pos++
	if p.peek() != 0 {
		return nil, fmt.Errorf("%q after the dictionary", p.rest())
	}
	if seen != [3]bool{true, true, true} {
		return nil, errors.New("the dictionary must have descr, fortran_order and shape")
	}
	return h, nil
}

// literal is a scanner over the header text.
type literal struct {
	s   string
	pos int
}

func (p *literal) peek() byte {
	for ; p.pos < len(p.s); p.pos++ {
		switch c := p.s[p.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (p *literal) rest() string { return p.s[p.pos:min(len(p.s), p.pos+20)] }

func (p *literal) expect(c byte) error {
	if p.peek() != c {
		return fmt.Errorf("%q expected at %q", c, p.rest())
	}
	p.pos++
	return nil
}

func (p *literal) quoted() (string, error) {
	q := p.peek()
	if q != '\'' && q != '"' {
		return "", fmt.Errorf("a string expected at %q", p.rest())
	}
	end := strings.IndexByte(p.s[p.pos+1:], q)
	if end < 0 {
		return "", errors.New("a string without an end")
	}
	s := p.s[p.pos+1 : p.pos+1+end]
	p.pos += end + 2
	return s, nil
}

func (p *literal) boolean() (bool, error) {
	p.peek()
	for _, w := range []string{"True", "False"} {
		if strings.HasPrefix(p.s[p.pos:], w) {
			p.pos += len(w)
			return w == "True", nil
		}
	}
	return false, fmt.Errorf("fortran_order: True or False expected at %q", p.rest())
}

// tuple reads a shape: (), (3,), (2, 3). Python 2 wrote 3L.
func (p *literal) tuple() ([]int, error) {
	if err := p.expect('('); err != nil {
		return nil, fmt.Errorf("shape: %w", err)
	}
	shape := []int{}
	for p.peek() != ')' {
		start := p.pos
		for p.pos < len(p.s) && p.s[p.pos] >= '0' && p.s[p.pos] <= '9' {
			p.pos++
		}
		n, err := strconv.Atoi(p.s[start:p.pos])
		if err != nil {
			return nil, fmt.Errorf("shape: a size expected at %q", p.s[start:min(len(p.s), start+20)])
		}
		if p.pos < len(p.s) && p.s[p.pos] == 'L' {
			p.pos++
		}
		if len(shape) == maxRank {
			return nil, fmt.Errorf("shape: more than %d dimensions", maxRank)
		}
		shape = append(shape, n)
		if p.peek() != ')' {
			if err := p.expect(','); err != nil {
				return nil, fmt.Errorf("shape: %w", err)
			}
		}
	}
	p.pos++
	return shape, nil
}

// descr reads the type: byte order, kind, width.
func (p *literal) descr(h *npyHeader) error {
	if p.peek() == '[' {
		return errors.New("a structured dtype (records), which is not read")
	}
	s, err := p.quoted()
	if err != nil {
		return fmt.Errorf("descr: %w", err)
	}
	if len(s) < 2 || !strings.ContainsRune("<>|=", rune(s[0])) {
		return fmt.Errorf("the unknown dtype %q", s)
	}
	order, code := s[0], s[1:]
	switch {
	case code[0] == 'O':
		return fmt.Errorf("dtype %q: an array of Python objects is a pickle, which is refused; save texts with x.astype(str), numbers with x.astype(float)", s)
	case code[0] == 'U', code[0] == 'S':
		n, err := strconv.Atoi(code[1:])
		if err != nil || n < 0 || n > 1<<28 {
			return fmt.Errorf("the unknown dtype %q", s)
		}
		if h.dtype, h.width = ByteText, n; code[0] == 'U' {
			h.dtype, h.width = Text, 4*n
		}
	case code == "V2":
		// NumPy has no bfloat16; JAX's files carry it as two raw bytes.
		h.dtype, h.width = BFloat16, 2
	default:
		d, ok := dtypeByNPY(code)
		if !ok {
			return fmt.Errorf("the dtype %q is not among those that are read", s)
		}
		h.dtype, h.width = d, d.Bits()/8
	}
	unit := h.dtype.swapUnit()
	if order == '=' || (order == '|' && unit > 1 && code != "V2") {
		return fmt.Errorf("the dtype %q does not state its byte order", s)
	}
	if order == '>' && unit > 1 {
		h.swap = unit
	}
	return nil
}

// dtypeByNPY finds the type of a NumPy kind and width.
func dtypeByNPY(code string) (DType, bool) {
	for d := range dtypeCount {
		if n := d.facts().npy; n != "" && n == code {
			return d, true
		}
	}
	return 0, false
}
