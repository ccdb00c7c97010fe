package comm

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// GatherInts returns every rank's x, in the order of ranks. Lengths may differ.
func GatherInts(c Comm, x []int) ([][]int, error) {
	if c.Size() == 1 {
		return [][]int{x}, nil
	}
	own := make([]byte, 0, 8*len(x))
	for _, v := range x {
		own = binary.LittleEndian.AppendUint64(own, uint64(v))
	}
	all, err := c.Gather(own)
	if err != nil {
		return nil, err
	}
	lists := make([][]int, len(all))
	for rank, b := range all {
		if len(b)%8 != 0 {
			return nil, fmt.Errorf("rank %d gave %d bytes, which are no whole numbers", rank, len(b))
		}
		for ; len(b) > 0; b = b[8:] {
			lists[rank] = append(lists[rank], int(int64(binary.LittleEndian.Uint64(b))))
		}
	}
	return lists, nil
}

// Concat returns the x of rank 0, of rank 1 and so on, one behind the other. Lengths may
// differ. T is a number or a structure of a fixed size, as encoding/binary has it.
func Concat[T any](c Comm, x []T) ([]T, error) {
	if c.Size() == 1 {
		return x, nil
	}
	own, err := binary.Append(nil, binary.LittleEndian, x)
	if err != nil {
		return nil, err
	}
	all, err := c.Gather(own)
	if err != nil {
		return nil, err
	}
	joined := bytes.Join(all, nil)
	list := make([]T, len(joined)/max(1, binary.Size(*new(T))))
	_, err = binary.Decode(joined, binary.LittleEndian, list)
	return list, err
}

// ErrStopped says that some rank was told to stop, and that all have stopped at the same
// place. It is a context.Canceled.
var ErrStopped = fmt.Errorf("a rank was told to stop: %w", context.Canceled)

// Stopped is an error if work is to stop here: of a group of one, ctx's own where that has
// ended; of a larger one ErrStopped on all ranks, where ctx has ended on some.
func Stopped(ctx context.Context, c Comm) error {
	if c.Size() == 1 {
		return ctx.Err()
	}
	if stop, err := Any(c, ctx.Err() != nil); err != nil || !stop {
		return err
	}
	return ErrStopped
}

// Any reports whether own is true on any rank.
func Any(c Comm, own bool) (bool, error) {
	if c.Size() == 1 {
		return own, nil
	}
	flag := []byte{0}
	if own {
		flag[0] = 1
	}
	all, err := c.Gather(flag)
	if err != nil {
		return false, err
	}
	for _, f := range all {
		if bytes.Equal(f, []byte{1}) {
			return true, nil
		}
	}
	return false, nil
}

// Same is an error of the first rank whose bytes differ from those of rank 0. what says what
// they are: "the images".
func Same(c Comm, what string, own []byte) error {
	if c.Size() == 1 {
		return nil
	}
	all, err := c.Gather(append([]byte(host()+"\x00"), own...))
	if err != nil {
		return err
	}
	var first []byte
	for rank, b := range all {
		name, b, _ := bytes.Cut(b, []byte{0})
		if rank == 0 {
			first = b
		}
		if !bytes.Equal(b, first) {
			return &RankError{rank, string(name), fmt.Errorf("%s are not those of rank 0: %s, %s", what, apart(b, first), apart(first, b))}
		}
	}
	return nil
}

// apart is what of a tells it from b, with some of what both have before it.
func apart(a, b []byte) string {
	const before, length = 60, 160
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	dots := ""
	if len(a) > length && at > before {
		a, dots = a[at-before:], "..."
	}
	return fmt.Sprintf("%s%.*s", dots, length, a)
}

// FromLead lets rank 0 make a value, and gives every rank a copy of it by way of JSON. If
// that fails on rank 0 every rank gets the error.
func FromLead[T any](c Comm, make func() (T, error)) (v T, err error) {
	if c.Size() == 1 {
		return make()
	}
	var own struct {
		Value         T
		Failure, Host string
	}
	var cause error
	var text []byte
	if c.Rank() == 0 {
		if own.Value, cause = make(); cause != nil {
			own.Failure, own.Host = cause.Error(), host()
		}
		if text, err = json.Marshal(own); err != nil {
			c.Abort(err)
			return v, err
		}
	}
	all, err := c.Gather(text)
	if err != nil {
		return v, err
	}
	if c.Rank() == 0 {
		return own.Value, cause
	}
	if err := json.Unmarshal(all[0], &own); err != nil {
		return v, err
	}
	if own.Failure != "" {
		return v, &RankError{0, own.Host, errors.New(own.Failure)}
	}
	return own.Value, nil
}

// Places says of each rank where it runs: "rank 1 is process 817 on node7".
func Places(c Comm) (list []string, err error) {
	all, err := c.Gather([]byte(fmt.Sprintf("process %d on %s", os.Getpid(), host())))
	for rank, place := range all {
		list = append(list, fmt.Sprintf("rank %d is %s", rank, place))
	}
	return list, err
}
