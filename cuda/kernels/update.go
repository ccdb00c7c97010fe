package kernels

// Slot is a parameter in the table that optimizers read, laid out as the device's
// struct slot: six words of eight bytes.
type Slot struct {
	W, G, First, Second Ptr
	N                   int64
	Rate, Decay         float32
}

// Chunk is a part of a slot, the work of one block, as the device's struct chunk.
type Chunk struct {
	Slot, Length int32
	From         int64
}

// ChunkLength is the most that one block does.
const ChunkLength = 1 << 14

// Chunks cuts parameters of the given sizes into chunks.
func Chunks(sizes []int64) []Chunk {
	var out []Chunk
	for i, n := range sizes {
		for from := int64(0); from < n; from += ChunkLength {
			out = append(out, Chunk{int32(i), int32(min(ChunkLength, n-from)), from})
		}
	}
	return out
}

// Clip is what optimizers make of gradients as they read them: times the float32
// at Factor (0: none), see ClipFactor, then within +-Limit (0: any).
type Clip struct {
	Factor Ptr
	Limit  float32
}

// Adam updates all chunks. hyper is seven float32 on the device: beta1, 1-beta1,
// beta2, 1-beta2, 1/(1-beta1^t), 1/(1-beta2^t), eps. Decay is decoupled (AdamW)
// unless coupled.
func Adam(chunks int, slots, table, hyper Ptr, coupled bool, c Clip) Launch {
	return launch("adam", perRow(chunks), slots, table, hyper, coupled, c.Factor, c.Limit)
}

// SGD updates all chunks; hyper is the momentum.
func SGD(chunks int, slots, table, hyper Ptr, nesterov bool, c Clip) Launch {
	return launch("sgd", perRow(chunks), slots, table, hyper, nesterov, c.Factor, c.Limit)
}

// RMSprop updates all chunks; hyper is four float32: alpha, 1-alpha, eps, momentum.
func RMSprop(chunks int, slots, table, hyper Ptr, c Clip) Launch {
	return launch("rmsprop", perRow(chunks), slots, table, hyper, c.Factor, c.Limit)
}

// SumSquares returns launches that leave in the float64 at out the sum of squares
// of every slot's W; part has room for a float64 a chunk.
func SumSquares(chunks int, slots, table, part, out Ptr) []Launch {
	return []Launch{
		launch("sum_squares", perRow(chunks), slots, table, part),
		launch("sum_doubles", [3]int{1, 1, 1}, chunks, out, part),
	}
}

// ClipFactor returns launches that leave in the float64 at squares the sum of
// squares of every slot's W, and in the float32 at factor what they are to be
// multiplied by so that its root is at most limit (0: any). Where the sum is not
// finite factor is NaN, and an optimizer that reads it moves nothing.
func ClipFactor(chunks int, slots, table, part, squares, factor Ptr, limit float32) []Launch {
	return []Launch{
		launch("sum_squares", perRow(chunks), slots, table, part),
		launch("clip_factor", [3]int{1, 1, 1}, chunks, squares, factor, part, limit),
	}
}

// Clamp limits every slot's W to [-limit, limit].
func Clamp(chunks int, slots, table Ptr, limit float32) Launch {
	return launch("clamp", perRow(chunks), slots, table, limit)
}
