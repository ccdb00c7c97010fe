package engine

import "time"

// An engine has these capabilities besides, or not. Who uses one asks for it by a
// type assertion and has another way where it is missing:
//
//	capability   has it           asks for it, and what it does without
//	Device       cuda             layers, train, model, bench: nothing to wait for, no memory of its own to plan
//	Recorder     cuda             layers: runs op by op
//	Bundler      cuda             layers: each operation on parameters is done by itself
//	Accumulator  cuda             layers: gradients that meet, and residuals, are computed and then added
//	Summer       cuda             layers: a gradient is read again for the gradient of a bias
//	Joiner       cuda             layers: maps that are joined are copied, and their gradients one by one
//	Later        cuda             train: reads a number at once
//	Feeder       cuda             model, train, bench: images go in as float32
//	Clipper      cuda             train: the host waits for the gradient's norm
//	Narrower     cuda at bf16     layers: activations are float32
//	ClassLosses  cpu, cuda        losses: the loss is computed on the host
//	RowSearcher  cuda             eval: the host looks through the distances
//	Collective   cuda             train.Connect, train: gradients are summed over ranks on the host
//	Marker       cuda             train, bench: the clock, after waiting for the device at both ends of each op
//	Workspacer   cpu, cuda        train: no memory beside the tensors is planned
//
// Three more are asked for by one package each and described there: eval reads rows
// where they lie in the memory of cpu, bench asks what its kernels reach alone, and
// how many convolutions cuda computes without cuDNN.

// Recorder is an Engine that can record what a series of calls makes it do, and
// do it again without the calls: on a device that works through a queue, the
// calls take longer than many an operation.
type Recorder interface {
	// Attended counts the calls so far in which the host took part, because
	// numbers came from it or went to it. They cannot be recorded.
	Attended() int
	// Record calls f; what f asks for is recorded and not done. If that fails
	// nothing is recorded, and the engine is as it was.
	Record(f func() error) (Recording, error)
}

// Bundler is an Engine that does many small operations together: a device takes longer
// to be asked for each by itself than to do it.
type Bundler interface {
	// Bundle calls f, which asks for Copy, FoldNorm, FoldNormGrad, ScaleRows and
	// RowDots and for nothing else. They are kept instead of done.
	Bundle(f func() error) (Bundle, error)
	// SumsFootprint is Footprint for a tensor of Sums. Arenas of a Bundler are
	// SumsArenas.
	SumsFootprint(shape ...int) (int64, error)
}

// Bundle is operations that are done together. It uses the tensors that it was made
// with.
type Bundle interface {
	// Run does them. The outcome is that of one after the other, in the order in which
	// they were asked for.
	Run() error
	Close() error
}

// SumsArena is an Arena of a Bundler.
type SumsArena interface {
	Arena
	// Sums is Tensor for sums over a batch, such as the gradient of a bias. What
	// computes them may leave parts in it, which are added up by what reads them: in a
	// Bundle, by all that do at once.
	Sums(offset int64, shape ...int) (Tensor, error)
}

// Accumulator is an Engine that adds what it computes to something else as it computes it:
// a gradient to another one, where a value is used more than once, or tokens to a residual.
type Accumulator interface {
	// AddConvGradInput sets dx = sum + what ConvGradInput sets it to. dx may be sum.
	AddConvGradInput(dx, sum, dy, w Tensor, spec ConvSpec) error
	// AddLayerNormGrad is LayerNormGrad, but sets dx = sum + what that sets it to. dx may
	// be sum.
	AddLayerNormGrad(dx, sum, dgamma, dbeta, dy, x, gamma, mean, invStd Tensor) error
	// AddLinear sets y = sum + what Linear sets it to. y is not sum.
	AddLinear(y, sum, x, w, bias Tensor) error
}

// Summer is an Engine that sums a gradient as it computes it, over all axes but that of
// channels: axis 1 of maps (N, C, H, W), else the last. Such sums are the gradient of a
// bias.
type Summer interface {
	// ReLUGradSums is ReLUGrad, and sets sums (C) to those of dx.
	ReLUGradSums(dx, sums, dy, y Tensor) error
	// ReLU6GradSums is ReLU6Grad, and sets sums (C) to those of dx.
	ReLU6GradSums(dx, sums, dy, y Tensor) error
	// GELUGradSums is GELUGrad, and sets sums (C) to those of dx.
	GELUGradSums(dx, sums, dy, x Tensor, form GELUForm) error
	// LayerNormGradSums is AddLayerNormGrad, or LayerNormGrad if sum is nil, and sets sums
	// (D) to those of dx.
	LayerNormGradSums(dx, sums, sum, dgamma, dbeta, dy, x, gamma, mean, invStd Tensor) error
}

// Joiner is an Engine that writes maps where they are to be joined, and takes their
// gradients apart at once.
type Joiner interface {
	// Part returns channels [from, from+c) of a map y (N, C, H, W) as a tensor (N, c, H,
	// W) in its memory. Conv may write it, without a residual, Concat leaves it where it
	// is in y, Finite looks at it; it is for nothing else.
	Part(y Tensor, from, c int) (Tensor, error)
	// ConcatGrad sets the gradients of all inputs of y = Concat(...) from dy. y may be nil
	// if no input is Rectified.
	ConcatGrad(inputs []ConcatInput, dy, y Tensor) error
}

// ConcatInput is an input of Concat as ConcatGrad sees it.
type ConcatInput struct {
	C int // its channels
	// DX (N, C, H, W) receives its gradient, and Sums (C) the sums of that, as a Summer's.
	// Either may be nil, Sums has to be where DX is.
	DX, Sums Tensor
	// Rectified says that the input is the output of a ReLU, whose gradient DX is: 0 where
	// y is not above 0, see Arithmetic.SliceReLUGrad.
	Rectified bool
}

// Device is an Engine that has memory of its own and works through a queue: its
// calls come back before the work is done.
type Device interface {
	// Synchronize waits until all that was asked for is done.
	Synchronize() error
	// Memory is how many bytes are free for tensors, and how many there are. What the
	// engine will yet take for itself is not free.
	Memory() (free, total int64, err error)
	// Held is how many of the bytes that are not free this engine holds.
	Held() int64
}

// Marker is a Device that can say when it came to points of its queue.
type Marker interface {
	// Marks waits until all that was asked for is done, and returns marks, of which there
	// are none yet.
	Marks() (Marks, error)
}

// Marks are points in the queue of a device. They cannot be set while work is recorded.
type Marks interface {
	// Mark sets one behind all that was asked for. It does not wait.
	Mark() error
	// Times waits for the device and returns when it came to each of the marks that were
	// set since the call of Times before, in their order, counted from the first mark of
	// all.
	Times() ([]time.Duration, error)
	// Close releases the marks, before the engine is closed.
	Close() error
}

// Recording is recorded work. It uses the tensors that it was recorded with.
type Recording interface {
	Replay() error
	Close() error
}

// Workspacer is an Engine that says how many bytes its own buffers take beside the
// tensors.
type Workspacer interface{ Workspace() int64 }

// Later is an Engine that brings a number to the host behind the work that it was
// asked for, while the host continues.
type Later interface {
	// ReadLater reads the one element of x, as it is when all is done that was asked
	// for before. The function that it returns waits for it; the number is kept for
	// some calls of ReadLater more.
	ReadLater(x Tensor) (func() (float64, error), error)
}

// Feeder is an Engine with memory of its own that takes images as bytes, ahead of
// the work that reads them: a batch travels while another one is computed, and in a
// quarter of the bytes.
type Feeder interface {
	// Feed returns a way for batches of images to dst (N, C, H, W), which lasts as
	// long as dst. It is made once: what it needs on both sides it keeps.
	Feed(dst Tensor, numbers ByteNumbers) (Feed, error)
}

// ByteNumbers say which numbers stand for the bytes of images.
type ByteNumbers struct {
	// Table holds them for each channel of the numbers, in their order, and value.
	Table [][256]float32
	// Reverse says that the bytes have the channels in the opposite order.
	Reverse bool
}

// NewByteNumbers says which numbers stand for the bytes of images of three channels.
func NewByteNumbers(table [3][256]float32, reverse bool) ByteNumbers {
	return ByteNumbers{Table: table[:], Reverse: reverse}
}

// Feed brings batches of images to one tensor, such as the input of a Graph. The
// tensor stays where it is, so that recorded work finds every batch there.
type Feed interface {
	// Send starts the way of a batch, bytes (N, H, W, C), and does not wait for work
	// that was asked for before, which continues reading the tensor as it is. pixels may
	// be used again when it returns.
	Send(pixels []uint8) error
	// Arrive makes the tensor hold the batch that was sent last, for all work that is
	// asked for from now on.
	Arrive() error
	Close() error
}

// Clipper is an Engine that clips a gradient while it moves parameters along it, so
// that the host need not wait for the gradient's norm in between.
type Clipper interface {
	// Clip measures the norm of the whole gradient xs. What it returns moves
	// parameters as if every gradient had been multiplied by what brings that
	// norm down to at most norm, and then every element limited to [-value,
	// value]; 0 means no limit. The gradients themselves stay as they are.
	Clip(xs []Tensor, norm, value float64) (Clipped, error)
}

// Clipped moves parameters along a clipped gradient, until the next call of Clip. If
// the gradient's norm is not finite it moves nothing.
type Clipped interface {
	Mover
	// Norm waits for the norm before clipping. It is kept for some calls of Clip
	// more, so that one may ask for it when it has long come.
	Norm() (float64, error)
}

// Narrower is an Engine that stores what operations pass on to each other, maps
// and tokens and their gradients, in another format than float32, one of fewer
// bytes. Its arenas are NarrowArenas. Everything else is float32: parameters and
// their gradients, statistics, embeddings, distances.
type Narrower interface {
	// ActivationFootprint is Footprint for a tensor of Activation.
	ActivationFootprint(shape ...int) (int64, error)
}

// NarrowArena is an Arena of a Narrower.
type NarrowArena interface {
	Arena
	// Activation is Tensor for an activation.
	Activation(offset int64, shape ...int) (Tensor, error)
}

// Collective is an engine whose device can sum over those of other ranks, each with an engine
// of its own, without the host. Join and SumRanks are called by every rank, in the same order.
type Collective interface {
	// Place is an address of the device, such as that on its bus, which differs between
	// those of one machine. It is an error where the device cannot join others.
	Place() (string, error)
	// Invitation is made on one rank and given to all, which Join with it.
	Invitation() ([]byte, error)
	// Join enters the group. It, and later each sum, ends with an error if the others do not
	// come within a time; 0 for no limit.
	Join(invitation []byte, rank, size int, patience time.Duration) error
	// Joined reports whether SumRanks may be called.
	Joined() bool
	// SumRanks replaces the numbers of every tensor by the sum over all ranks. All ranks come
	// to the same bits.
	SumRanks(list []Tensor) error
}
