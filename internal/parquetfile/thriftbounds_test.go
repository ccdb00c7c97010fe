package parquetfile

import (
	"bytes"
	"testing"
)

// A structure with one field of each type, by hand from the protocol's description:
// field heads are (step to the field's number) << 4 | type.
var thriftExample = []byte{
	0x11,       // 1: true
	0x13, 0x07, // 2: byte 7
	0x15, 0xac, 0x02, // 3: i32, two bytes
	0x17, 1, 2, 3, 4, 5, 6, 7, 8, // 4: double
	0x18, 0x03, 'a', 'b', 'c', // 5: binary
	0x19, 0x25, 0x02, 0x04, // 6: list of two i32
	0x1b, 0x01, 0x85, 0x01, 'k', 0x02, // 7: map of binary to i32
	0x1c, 0x11, 0x00, // 8: structure with a true
	0x00,
}

func TestThriftLength(t *testing.T) {
	n, err := thriftLength(append(bytes.Clone(thriftExample), "behind it"...))
	if err != nil || n != len(thriftExample) {
		t.Errorf("%d bytes, %v; want %d", n, err, len(thriftExample))
	}
	for cut := range thriftExample {
		if n, err := thriftLength(thriftExample[:cut]); err == nil {
			t.Errorf("the first %d bytes: a structure of %d", cut, n)
		}
	}
	for name, b := range map[string][]byte{
		"a string of 2 GiB":        {0x18, 0xff, 0xff, 0xff, 0xff, 0x07, 'a', 0},
		"a list of 2^63 elements":  {0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0},
		"structures without end":   bytes.Repeat([]byte{0x1c}, 1000),
		"lists of lists":           append([]byte{0x19}, bytes.Repeat([]byte{0x19}, 1000)...),
		"a type that there is not": {0x1d, 0, 0},
		"a varint without end":     append([]byte{0x15}, bytes.Repeat([]byte{0xff}, 20)...),
	} {
		if n, err := thriftLength(b); err == nil {
			t.Errorf("%s: a structure of %d bytes", name, n)
		}
	}
}
