package kernels

import (
	"embed"
	"fmt"
	"math"
	"strings"
)

//go:embed ptx/*.ptx
var texts embed.FS

// PTX returns the text of a module.
func PTX(module string) (string, error) {
	text, err := texts.ReadFile("ptx/" + module + ".ptx")
	return string(text), err
}

// Capability returns the oldest compute capability that the text of a module is for, ten
// times: 70, or 80 for modules that multiply bfloat16 on tensor cores.
func Capability(text string) int {
	_, rest, _ := strings.Cut(text, ".target sm_")
	n := 0
	for ; rest != "" && '0' <= rest[0] && rest[0] <= '9'; rest = rest[1:] {
		n = 10*n + int(rest[0]-'0')
	}
	return n
}

// Ptr is an address in device memory; 0 is none.
type Ptr uintptr

// Type is how the numbers of a map are stored.
type Type uint8

const (
	F32  Type = iota
	BF16      // the upper half of a float32
)

// Size returns the bytes of a number.
func (t Type) Size() int {
	if t == BF16 {
		return 2
	}
	return 4
}

// String returns the suffix of the kernels for t.
func (t Type) String() string {
	if t == BF16 {
		return "bf16"
	}
	return "f32"
}

// Signature is what a kernel takes: a letter a parameter, p for a pointer, l
// int64, i int32, f float32, d float64; the threads of a block; and the module that
// holds it.
type Signature struct {
	Params  string
	Threads int
	Module  string
}

// Launch is one launch of a kernel. Each argument lies in the low bytes of a
// word, as the driver's parameter array wants it.
type Launch struct {
	Name    string
	Module  string
	Grid    [3]int
	Threads int
	Args    []uint64
	most    int64 // the largest count among the arguments
}

// launch builds a Launch and checks the arguments against the declaration: a
// mismatch is a fault of this package, not of its callers, hence the panic.
func launch(name string, grid [3]int, args ...any) Launch {
	s, ok := signatureOf(name)
	if !ok || len(args) != len(s.Params) {
		panic(fmt.Sprintf("kernels: %s takes %q, not %d arguments", name, s.Params, len(args)))
	}
	l := Launch{Name: name, Module: s.Module, Grid: grid, Threads: s.Threads, Args: make([]uint64, len(args))}
	for i, a := range args {
		kind := byte('?')
		switch v := a.(type) {
		case Ptr:
			kind, l.Args[i] = 'p', uint64(v)
		case int64:
			kind, l.Args[i] = 'l', uint64(v)
			l.most = max(l.most, v)
		case int:
			kind, l.Args[i] = 'i', uint64(uint32(int32(v)))
			l.most = max(l.most, int64(v))
		case bool:
			kind = 'i'
			if v {
				l.Args[i] = 1
			}
		case float32:
			kind, l.Args[i] = 'f', uint64(math.Float32bits(v))
		case float64:
			kind, l.Args[i] = 'd', math.Float64bits(v)
		}
		if kind != s.Params[i] {
			panic(fmt.Sprintf("kernels: argument %d of %s is a %T, want %q", i, name, a, s.Params[i]))
		}
	}
	return l
}

// Check reports what the device could not do: the driver's own error would not say
// what is too large, and a number that wraps around would not be an error at all.
func (l Launch) Check() error {
	if l.most > MaxNumbers {
		return fmt.Errorf("%d numbers in one array, kernels count to %d", l.most, MaxNumbers)
	}
	for i, most := range [3]int{MaxNumbers, maxBlocksAcross, maxBlocksAcross} {
		if l.Grid[i] > most {
			return fmt.Errorf("a grid of %d x %d x %d blocks, axis %c takes %d", l.Grid[0], l.Grid[1], l.Grid[2], "xyz"[i], most)
		}
	}
	return nil
}

// Empty reports whether there is nothing to do, which the driver would refuse.
func (l Launch) Empty() bool { return l.Grid[0]*l.Grid[1]*l.Grid[2] == 0 }

// MaxNumbers is how many numbers one array may have.
const MaxNumbers = 1<<31 - 1

// maxBlocksAcross is how many blocks a grid may have along its second and third
// axes, on every GPU.
const maxBlocksAcross = 1<<16 - 1

// maxBlocks fills every GPU of today several times over.
const maxBlocks = 8192

// flat is the grid of a kernel that runs over n elements.
func flat(n int64) [3]int { return [3]int{int(min((n+255)/256, maxBlocks)), 1, 1} }

// vectors is the grid of a kernel that runs over n numbers of type t, 16 bytes a thread.
func vectors(t Type, n int64) [3]int { return flat((n*int64(t.Size()) + 15) / 16) }

func tiles(n, size int) int { return (n + size - 1) / size }
