package layers

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

// Feed brings batches of images to one tensor, such as the input of a Graph. The
// tensor stays where it is, so that recorded work finds every batch there.
type Feed interface {
	// Send starts the way of a batch, bytes (N, H, W, C), and does not wait for work
	// that was asked for before, which goes on reading the tensor as it is. pixels may
	// be used again when it returns.
	Send(pixels []uint8) error
	// Arrive makes the tensor hold the batch that was sent last, for all work that is
	// asked for from now on.
	Arrive() error
	Close() error
}
