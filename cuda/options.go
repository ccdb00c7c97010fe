package cuda

import (
	"errors"
	"log"
)

// Precision is how the engine computes products and convolutions, and how it
// stores maps between operations. Parameters, their gradients, statistics,
// embeddings and distances are float32 in all of them, and distances are
// computed in full float32.
type Precision uint8

const (
	// TF32 rounds the factors of products to 10 bits of mantissa, which tensor
	// cores multiply; sums and storage are float32.
	TF32 Precision = iota
	// FP32 is float32 throughout.
	FP32
	// BF16 stores maps and tokens as bfloat16, and multiplies them as such.
	BF16
)

// ParsePrecision reads tf32, fp32 or bf16.
func ParsePrecision(name string) (Precision, error) {
	for _, p := range []Precision{TF32, FP32, BF16} {
		if name == p.String() {
			return p, nil
		}
	}
	return 0, errors.New("want tf32, fp32 or bf16")
}

func (p Precision) String() string {
	switch p {
	case FP32:
		return "fp32"
	case BF16:
		return "bf16"
	}
	return "tf32"
}

// Options say how an engine works.
type Options struct {
	Device int // number of the GPU
	// Turn is the number of this process among several on the machine: OpenFirst begins
	// with the GPU of that number, so that each takes another.
	Turn      int
	Precision Precision
	// Deterministic chooses convolutions whose sums have a fixed order, and without
	// timing them, so that two runs on one machine are the same bit by bit. All
	// else always is.
	Deterministic bool
	// Workspace is the memory in bytes that convolutions may work in; 0 means a
	// thirty-second of the GPU's memory, at least 64 MiB and at most 1 GiB.
	Workspace int64
	// Warn receives what slows a run down without stopping it, such as a convolution
	// for which cuDNN has no algorithm; nil is the standard logger.
	Warn func(message string)
}

func (o Options) warn(message string) {
	if o.Warn == nil {
		log.Print(message)
		return
	}
	o.Warn(message)
}

// workspace is the limit for a device of total bytes.
func (o Options) workspace(total int64) int64 {
	if o.Workspace > 0 {
		return o.Workspace
	}
	return min(max(total/32, 64<<20), 1<<30)
}
