package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

var _ engine.Feeder = (*Engine)(nil)

// feed sends bytes to device memory by the stream of copies, to two places in
// turn, and makes them the numbers of one tensor in the stream of computation. That
// last part is a kernel of a few microseconds outside of what is recorded: the
// recording reads the tensor, never the places.
type feed struct {
	eng     *Engine
	dst     *Tensor
	numbers *Tensor // (C, 256)
	reverse bool
	bytes   int64
	places  [2]*place
	blocks  [2]block // the places' device memory
	turn    int
	last    *place // that was sent to; nil before the first batch
}

// Feed returns a way for batches of images to dst.
func (e *Engine) Feed(dst engine.Tensor, numbers engine.ByteNumbers) (engine.Feed, error) {
	a := e.args("feed")
	d := a.images("dst", dst)
	a.check(a.err != nil || len(numbers.Table) == d.shape[1], "%v with numbers for %d channels", d, len(numbers.Table))
	if a.err != nil {
		return nil, a.err
	}
	table, err := e.New(len(numbers.Table), 256)
	if err != nil {
		return nil, err
	}
	var flat []float32
	for _, row := range numbers.Table {
		flat = append(flat, row[:]...)
	}
	if err := e.Write(table, flat); err != nil {
		return nil, err
	}
	f := &feed{eng: e, dst: d.Tensor, numbers: table.(*Tensor), reverse: numbers.Reverse, bytes: int64(d.size)}
	for i := range f.places {
		if err := f.open(i); err != nil {
			return nil, fmt.Errorf("cuda: feed of %d bytes: %w", f.bytes, errors.Join(err, f.Close()))
		}
	}
	return f, nil
}

// open makes a place. The stream of computation may still use its device memory for
// what that was before.
func (f *feed) open(i int) (err error) {
	e := f.eng
	if f.places[i], err = newPlace(e.driver); err != nil {
		return err
	}
	p := f.places[i]
	if p.host, err = e.driver.AllocHost(f.bytes); err != nil {
		return err
	}
	if f.blocks[i], err = e.memory.take(f.bytes); err != nil {
		return err
	}
	p.dev, p.bytes, p.used = f.blocks[i].ptr, f.bytes, true
	return errors.Join(e.driver.Record(p.arrived, e.stage.copy), e.driver.Record(p.consumed, e.compute))
}

// Send starts the way of a batch.
func (f *feed) Send(pixels []uint8) error {
	a := f.eng.args("feed")
	a.check(int64(len(pixels)) == f.bytes, "%d bytes for a batch of %d", len(pixels), f.bytes)
	if a.failed(f.eng.attend()); a.err != nil {
		return a.err
	}
	p := f.places[f.turn]
	a.failed(f.eng.stage.fill(p, unsafe.Pointer(unsafe.SliceData(pixels)), f.bytes))
	if a.err == nil {
		f.turn, f.last = 1-f.turn, p
	}
	return a.err
}

// Arrive makes the tensor hold the batch.
func (f *feed) Arrive() error {
	a := f.eng.args("feed")
	a.check(f.last != nil, "no batch has been sent")
	if a.failed(f.eng.attend()); a.err != nil {
		return a.err
	}
	f.dst.touched()
	a.failed(f.eng.driver.Wait(f.eng.compute, f.last.arrived))
	a.launch(kernels.Image(f.dst.typ, f.bytes, f.dst.shape[1], f.dst.ptr, f.last.dev, f.numbers.ptr, f.reverse))
	a.consumed(f.last)
	return a.err
}

// Close gives the places back.
func (f *feed) Close() error {
	e := f.eng
	if e.driver == nil { // closed, and its memory with it
		return nil
	}
	errs := []error{e.driver.Synchronize(e.stage.copy), e.driver.Synchronize(e.compute)}
	for i, p := range f.places {
		if p != nil {
			errs = append(errs, p.close(e.driver))
		}
		if f.blocks[i].ptr != 0 {
			e.memory.giveBack(f.blocks[i])
		}
	}
	f.places, f.blocks, f.last = [2]*place{}, [2]block{}, nil
	return errors.Join(errs...)
}
