package weights

import (
	"encoding/json"
	"fmt"
	"strings"
)

// headerJSON reads the JSON that a safetensors header may consist of: objects,
// strings, and lists of whole numbers. A general decoder would accept repeated
// keys and fractions, and allocate for them.
type headerJSON struct {
	p   string
	pos int
}

func (j *headerJSON) fail(format string, args ...any) error {
	return fmt.Errorf("header byte %d: %s", j.pos, fmt.Sprintf(format, args...))
}

// peek returns the next byte that is not white space, or 0 at the end.
func (j *headerJSON) peek() byte {
	for ; j.pos < len(j.p); j.pos++ {
		switch c := j.p[j.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (j *headerJSON) expect(c byte) error {
	if got := j.peek(); got != c {
		if j.pos >= len(j.p) {
			return j.fail("%q expected, but the header ends", c)
		}
		return j.fail("%q expected instead of %q", c, got)
	}
	j.pos++
	return nil
}

// members calls fn with each key of an object, positioned at its value.
func (j *headerJSON) members(fn func(key string) error) error {
	return j.sequence('{', '}', func() error {
		key, err := j.text()
		if err != nil {
			return err
		}
		if err := j.expect(':'); err != nil {
			return err
		}
		return fn(key)
	})
}

// sequence calls fn at each item of a list or object.
func (j *headerJSON) sequence(open, end byte, fn func() error) error {
	if err := j.expect(open); err != nil {
		return err
	}
	if j.peek() == end {
		j.pos++
		return nil
	}
	for {
		if err := fn(); err != nil {
			return err
		}
		if j.peek() == end {
			j.pos++
			return nil
		}
		if err := j.expect(','); err != nil {
			return err
		}
	}
}

// text reads a string.
func (j *headerJSON) text() (string, error) {
	if err := j.expect('"'); err != nil {
		return "", err
	}
	start := j.pos
	for ; j.pos < len(j.p); j.pos++ {
		switch c := j.p[j.pos]; {
		case c == '"':
			raw := j.p[start:j.pos]
			j.pos++
			if strings.IndexByte(raw, '\\') < 0 {
				return raw, nil
			}
			var s string
			if err := json.Unmarshal([]byte(j.p[start-1:j.pos]), &s); err != nil {
				return "", j.fail("a string that is not JSON: %v", err)
			}
			return s, nil
		case c == '\\':
			j.pos++
		case c < 0x20:
			return "", j.fail("a control character in a string")
		}
	}
	return "", j.fail("a string without an end")
}

// whole reads a number that is not negative and has no fraction.
func (j *headerJSON) whole() (int64, error) {
	c := j.peek()
	start := j.pos
	if c == '-' {
		return 0, j.fail("a negative number")
	}
	var n int64
	for ; j.pos < len(j.p) && j.p[j.pos] >= '0' && j.p[j.pos] <= '9'; j.pos++ {
		hi, ok := mul(n, 10)
		if hi += int64(j.p[j.pos] - '0'); !ok || hi < 0 {
			return 0, j.fail("a number that does not fit 63 bits")
		}
		n = hi
	}
	digits := j.p[start:j.pos]
	if len(digits) == 0 || (len(digits) > 1 && digits[0] == '0') {
		return 0, j.fail("a whole number expected")
	}
	if next := j.peek(); next != ',' && next != ']' {
		return 0, j.fail("a whole number expected, it continues with %q", next)
	}
	return n, nil
}

// wholes reads a list of whole numbers and appends them to list.
func (j *headerJSON) wholes(list []int, most int) ([]int, error) {
	had := len(list)
	err := j.sequence('[', ']', func() error {
		n, err := j.whole()
		if err != nil {
			return err
		}
		if len(list)-had == most {
			return j.fail("a list of more than %d numbers", most)
		}
		if int64(int(n)) != n {
			return j.fail("%d is too large", n)
		}
		list = append(list, int(n))
		return nil
	})
	return list, err
}

// end checks that only padding is left.
func (j *headerJSON) end() error {
	if j.peek(); j.pos < len(j.p) {
		return j.fail("%d bytes after the end of the object", len(j.p)-j.pos)
	}
	return nil
}
