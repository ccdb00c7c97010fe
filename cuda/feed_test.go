//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
)

// lazily runs a test with streams that do their work as late as they may. If
// computation is late and copies are not, a place that is filled again too early
// shows; if both are, one that is read before it has been filled.
func lazily(t *testing.T, f func(t *testing.T, eng *Engine)) {
	for name, lazy := range map[string]func(e *Engine) []device.Stream{
		"late computation":    func(e *Engine) []device.Stream { return []device.Stream{e.compute} },
		"late in all streams": func(e *Engine) []device.Stream { return []device.Stream{e.compute, e.stage.copy} },
	} {
		t.Run(name, func(t *testing.T) {
			eng, dev, _ := newFake(t, Options{})
			for _, s := range lazy(eng) {
				dev.Lazy[s] = true
			}
			f(t, eng)
		})
	}
}

// drawBytes are the bytes of images for the number of a batch.
func drawBytes(n int, number int) []uint8 {
	rng := rand.New(rand.NewPCG(5, uint64(number)))
	x := make([]uint8, n)
	for i := range x {
		x[i] = uint8(rng.Uint32())
	}
	return x
}

func byteNumbers(n transform.Normalization) engine.ByteNumbers {
	table, reverse := n.Bytes()
	return engine.ByteNumbers{Table: table[:], Reverse: reverse}
}

// numbersOf are those that stand for bytes (n, area, 3), as (n, 3, area).
func numbersOf(b engine.ByteNumbers, x []uint8, area int) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		image, at, c := i/(3*area), i/3%area, i%3
		if b.Reverse {
			c = 2 - c
		}
		y[(image*3+c)*area+at] = b.Table[c][v]
	}
	return y
}

func newFeed(t *testing.T, eng *Engine, dst engine.Tensor, n engine.ByteNumbers) engine.Feed {
	t.Helper()
	f, err := eng.Feed(dst, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// Each batch is in the tensor from its arrival to that of the next, whatever was
// sent in between, and to the bit what the host would have made of it.
func TestBatchesThatAreSentAheadArriveInTheirTurn(t *testing.T) {
	lazily(t, sentAhead)
}

func sentAhead(t *testing.T, eng *Engine) {
	for _, norm := range []transform.Normalization{transform.ImageNet(), transform.Caffe()} {
		shape := []int{2, 3, 5, 7}
		dst, err := eng.New(shape...)
		if err != nil {
			t.Fatal(err)
		}
		numbers := byteNumbers(norm)
		f := newFeed(t, eng, dst, numbers)
		var seen []engine.Tensor
		keep := func() { // by the device, in its turn
			x, err := eng.New(shape...)
			if err != nil {
				t.Fatal(err)
			}
			if err := eng.Copy(x, dst); err != nil {
				t.Fatal(err)
			}
			seen = append(seen, x)
		}
		const batches = 7
		for i := range batches {
			x := drawBytes(210, i)
			if err := f.Send(x); err != nil {
				t.Fatal(err)
			}
			clear(x) // Send must not need it any more
			if i > 0 {
				keep() // still the one before
			}
			if err := f.Arrive(); err != nil {
				t.Fatal(err)
			}
			keep()
		}
		got := make([]float32, 210)
		for k, x := range seen {
			if err := eng.Read(got, x); err != nil {
				t.Fatal(err)
			}
			if number := k / 2; !slices.Equal(got, numbersOf(numbers, drawBytes(210, number), 35)) {
				t.Errorf("place %d does not hold batch %d", k, number)
			}
		}
	}
}

// What is sent twice without an arrival in between is replaced: a step that is run
// again gets its own batch.
func TestTheBatchThatWasSentLastArrives(t *testing.T) {
	lazily(t, func(t *testing.T, eng *Engine) {
		dst, err := eng.New(1, 3, 4, 4)
		if err != nil {
			t.Fatal(err)
		}
		numbers := byteNumbers(transform.UnitRange())
		f := newFeed(t, eng, dst, numbers)
		for i := range 5 {
			if err := f.Send(drawBytes(48, i)); err != nil {
				t.Fatal(err)
			}
		}
		got := make([]float32, 48)
		for range 2 { // the second arrival is of the same batch
			if err := f.Arrive(); err != nil {
				t.Fatal(err)
			}
			if err := eng.Read(got, dst); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, numbersOf(numbers, drawBytes(48, 4), 16)) {
				t.Error("another batch than the last arrives")
			}
		}
	})
}

func TestAFeedTakesItsMemoryOnce(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	dst, err := eng.New(3, 3, 100, 100) // more than a small place has room for
	if err != nil {
		t.Fatal(err)
	}
	f := newFeed(t, eng, dst, byteNumbers(transform.ImageNet()))
	before := map[string]int{}
	for name, n := range dev.Calls {
		before[name] = n
	}
	for i := range 4 {
		if err := f.Send(drawBytes(90000, i)); err != nil {
			t.Fatal(err)
		}
		if err := f.Arrive(); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"Alloc": 0, "AllocHost": 0, "Synchronize": 0, "Download": 0, "Upload": 4, "Launch": 4} {
		if got := dev.Calls[name] - before[name]; got != want {
			t.Errorf("4 batches call %s %d times, want %d", name, got, want)
		}
	}
}

func TestAFeedRefusesWhatDoesNotFit(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	images, err := eng.New(2, 3, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := eng.New(2, 48)
	if err != nil {
		t.Fatal(err)
	}
	numbers := byteNumbers(transform.ImageNet())
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	_, err = eng.Feed(rows, numbers)
	refused(err, "dst [2 48], want shape [-1 -1 -1 -1]")
	_, err = eng.Feed(images, engine.ByteNumbers{Table: numbers.Table[:1]})
	refused(err, "dst [2 3 4 4] with numbers for 1 channels")
	f := newFeed(t, eng, images, numbers)
	refused(f.Arrive(), "no batch has been sent")
	refused(f.Send(make([]uint8, 95)), "95 bytes for a batch of 96")
	_, err = eng.Record(func() error { return f.Send(make([]uint8, 96)) })
	refused(err, "the host takes part")
}

func TestAFeedThatCannotBeMadeLeavesNothingBehind(t *testing.T) {
	for _, call := range []string{"NewEvent", "AllocHost", "Record"} {
		eng, dev, _ := newFake(t, Options{})
		dst, err := eng.New(2, 3, 100, 100)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		dev.Fault = func(name string) error {
			// The third event is that of the second place; of the other calls two are
			// for the table of numbers or for the first place.
			if name == call {
				if seen++; seen == 3 {
					return fmt.Errorf("no more of %s", call)
				}
			}
			return nil
		}
		if _, err := eng.Feed(dst, byteNumbers(transform.ImageNet())); err == nil || !strings.Contains(err.Error(), "no more of "+call) {
			t.Errorf("%s: got %v", call, err)
		}
		dev.Fault = nil
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
		if got, want := dev.Leaked(), "0 host buffers, 0 events, 0 streams, 0 graphs"; got != want {
			t.Errorf("%s fails: left %s", call, got)
		}
	}
}
