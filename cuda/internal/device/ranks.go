package device

// Span is float32 numbers that lie one behind the other in device memory.
type Span struct {
	At      Ptr
	Numbers int
}

// Ranks join the devices of several processes to a group. Sum and Gather are called by
// every rank, in the same order; they return when the work is in the queue of the stream.
type Ranks interface {
	// Invitation is made on one rank and given to all, which Join with it. Join returns
	// when all have come.
	Invitation() ([]byte, error)
	Join(invitation []byte, rank, size int) error
	// Sum replaces the numbers of every span by their sums over the ranks, in an order of
	// the library's own.
	Sum(list []Span, s Stream) error
	// Gather sets dst to the numbers of rank 0, of rank 1 and so on.
	Gather(dst Ptr, x Span, s Stream) error
	// Since is what has gone wrong since work was put into the queue, here or on another
	// rank. It may be called while another call waits.
	Since() error
	// Abort leaves the group at once; work under way ends without a result.
	Abort() error
}
