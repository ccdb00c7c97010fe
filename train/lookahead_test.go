package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/run"
)

func TestTheBatchAfterIsReadOnlyWhenAskedFor(t *testing.T) {
	broken := errors.New("a picture is broken")
	list := []*data.Batch{{}, {}, {}}
	read := 0
	l, stop := newLookahead(func(yield func(*data.Batch, error) bool) {
		for _, b := range list {
			if read++; !yield(b, nil) {
				return
			}
		}
		read++
		yield(nil, broken)
	}, 9)
	defer stop()
	next := func(want *data.Batch, wantErr error, wantRead int) {
		t.Helper()
		if b, err := l.next(); b != want || err != wantErr || read != wantRead {
			t.Errorf("got %p, %v after %d reads; want %p, %v after %d", b, err, read, want, wantErr, wantRead)
		}
	}
	next(list[0], nil, 1)
	for range 2 {
		if b := l.peek(); b != list[1] || read != 2 {
			t.Errorf("looking ahead gives %p after %d reads, want %p after 2", b, read, list[1])
		}
	}
	next(list[1], nil, 2)
	next(list[2], nil, 3)
	if b := l.peek(); b != nil {
		t.Errorf("looking ahead to an error gives %p", b)
	}
	next(nil, broken, 4) // what could not be looked at is reported in its turn
	next(nil, broken, 4)
}

func TestNoMoreBatchesAreReadThanTheRunTakes(t *testing.T) {
	read := 0
	l, stop := newLookahead(func(yield func(*data.Batch, error) bool) {
		for {
			if read++; !yield(&data.Batch{}, nil) {
				return
			}
		}
	}, 2)
	defer stop()
	for range 2 {
		if b, err := l.next(); b == nil || err != nil {
			t.Fatal(b, err)
		}
	}
	if ahead := l.peek(); ahead != nil || read != 2 {
		t.Errorf("a batch after the last: %p, %d read", ahead, read)
	}
	if b, err := l.next(); b != nil || err != nil {
		t.Errorf("after the last: %p, %v", b, err)
	}
}

// feeding is the CPU engine with a way for bytes, as an engine with memory of its
// own has. It notes what is asked of it.
type feeding struct {
	engine.Engine
	asked []string
}

type feedingFeed struct {
	eng     *feeding
	dst     engine.Tensor
	numbers engine.ByteNumbers
	sent    []float32
}

func (e *feeding) Feed(dst engine.Tensor, numbers engine.ByteNumbers) (engine.Feed, error) {
	return &feedingFeed{eng: e, dst: dst, numbers: numbers}, nil
}

func (e *feeding) AdamW(slots []engine.Slot, spec engine.AdamWSpec) error {
	if len(e.asked) == 0 || e.asked[len(e.asked)-1] != "update" { // it comes in groups
		e.asked = append(e.asked, "update")
	}
	return e.Engine.AdamW(slots, spec)
}

func (f *feedingFeed) Send(pixels []uint8) error {
	if len(pixels) != f.dst.Size() {
		return fmt.Errorf("%d bytes, want %d", len(pixels), f.dst.Size())
	}
	f.eng.asked = append(f.eng.asked, "send")
	s := f.dst.Shape()
	channels, area := s[1], s[2]*s[3]
	f.sent = make([]float32, len(pixels))
	for i, v := range pixels {
		image, at, c := i/(channels*area), i/channels%area, i%channels
		if f.numbers.Reverse {
			c = channels - 1 - c
		}
		f.sent[(image*channels+c)*area+at] = f.numbers.Table[c][v]
	}
	return nil
}

func (f *feedingFeed) Arrive() error {
	f.eng.asked = append(f.eng.asked, "arrive")
	return f.eng.Write(f.dst, f.sent)
}

func (f *feedingFeed) Close() error {
	f.eng.asked = append(f.eng.asked, "close")
	return nil
}

func beginFeeding(t *testing.T, c run.Config) (*Session, *feeding) {
	t.Helper()
	eng := &feeding{Engine: newTestEngine(t)}
	s, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), eng, Options{Workers: 1, Events: silent{}, Cache: run.CacheOptions{Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, eng
}

func same(t *testing.T, what string, want, got map[string][]float32) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%s: %d tensors, want %d", what, len(got), len(want))
	}
	for name, w := range want {
		if !slices.Equal(w, got[name]) {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

// Images that go to the engine as bytes train as those that go as numbers do, to
// the last bit: in one graph and in micro-batches, of which the last is not full.
func TestARunOnBytesIsARunOnNumbers(t *testing.T) {
	for name, change := range map[string]func(*run.Config){
		"one graph":     func(c *run.Config) {},
		"B, G, R":       func(c *run.Config) { c.Model.Input.BGR, c.Model.Input.Mean = true, [3]float64{.1, .2, .3} },
		"micro-batches": func(c *run.Config) { c.MicroBatch, c.Freeze = 4, model.Freeze{BNStats: true} },
		"outputs of frozen blocks": func(c *run.Config) {
			c.Freeze, c.Data.CacheFrozen, c.Data.Augment = model.Freeze{To: "block1"}, "fp32", "none"
		},
	} {
		c := smallConfig(t, shades(t, 8, 4))
		c.Data.Augment, c.Epochs = "photos", 2
		change(&c)
		plain := start(t, c, Options{Cache: run.CacheOptions{Dir: t.TempDir()}})
		if err := plain.Train(context.Background()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fed, eng := beginFeeding(t, c)
		if err := fed.Train(context.Background()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		same(t, name, all(t, plain), all(t, fed))
		// What frozen blocks give are numbers.
		if sent := slices.Contains(eng.asked, "send"); sent != (c.Data.CacheFrozen == "") {
			t.Errorf("%s: bytes were sent is %v", name, sent)
		}
	}
}

// A batch is sent while the one before it is at work: after its graph was started
// and before the parameters move. None is sent twice, and none beyond the epoch. Of a
// batch in parts each is sent while the engine is at the one before.
func TestABatchIsSentAheadOfItsStep(t *testing.T) {
	for micro, step := range map[int]string{0: "arrive", 4: "arrive send arrive send arrive send arrive"} {
		c := smallConfig(t, shades(t, 8, 4))
		c.Epochs, c.WarmupEpochs, c.Loss.Start = 2, 1, "random"
		c.MicroBatch, c.Freeze = micro, model.Freeze{BNStats: true, BNAffine: true}
		closed := "close"
		if micro > 0 {
			closed = "close close"
		}
		s, eng := beginFeeding(t, c)
		n := s.sampler.Batches()
		if err := s.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		s.Close()
		want := "send " + strings.Repeat(step+" send update ", n-1) + step + " update "
		// After the last update a few images go through the model. The network of the
		// warm-up ends with it, and its way for bytes too.
		want += "send arrive " + closed
		if got := strings.Join(eng.asked, " "); got != want+" "+want+" close" {
			t.Errorf("parts of %d: got  %s\nwant %s, twice, and a close", micro, got, want)
		}
	}
}

// A checkpoint holds the batch that was used last, not the one that was sent ahead:
// a run that is stopped after any step, and continues, ends as one that never stopped.
func TestARunStoppedBetweenTwoBatchesGoesOnWithTheOneSentAhead(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Data.Augment, c.WarmupEpochs, c.Epochs = "photos", 0, 2
	straight := begin(t, c)
	if err := straight.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := all(t, straight)
	steps := straight.stepper.opti.Steps()
	for stopAt := 1; stopAt < steps; stopAt += 3 {
		s, _ := beginFeeding(t, c)
		ctx, stop := context.WithCancel(context.Background())
		s.ev = after{stop: stop, steps: stopAt, opti: s.stepper.opti}
		if err := s.Train(ctx); !errors.Is(err, context.Canceled) || s.stepper.opti.Steps() != stopAt {
			t.Fatalf("stopped at %d steps with %v, want %d", s.stepper.opti.Steps(), err, stopAt)
		}
		s.Close()
		r, err := Resume(context.Background(), s.folder, &feeding{Engine: newTestEngine(t)}, s.opt)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("stopped after %d steps", stopAt), want, all(t, r))
	}
}

// The same session may continue, too: what it had sent ahead is of no harm.
func TestATrainingThatIsCalledAgainGoesOn(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.WarmupEpochs, c.Epochs = 0, 2
	straight := begin(t, c)
	if err := straight.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	s, _ := beginFeeding(t, c)
	ctx, stop := context.WithCancel(context.Background())
	s.ev = after{stop: stop, steps: 2, opti: s.stepper.opti}
	if err := s.Train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := s.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	same(t, "called again", all(t, straight), all(t, s))
}

// after stops a run after steps steps.
type after struct {
	silent
	stop  func()
	steps int
	opti  *optim.Optimizer
}

func (a after) Progress(string, int, int, string) {
	if a.opti.Steps() >= a.steps {
		a.stop()
	}
}

func TestADryRunTakesBytesToo(t *testing.T) {
	eng := &feeding{Engine: newTestEngine(t)}
	if _, err := DryRun(context.Background(), smallConfig(t, shades(t, 8, 4)), eng, Options{Workers: 1, Events: silent{}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(eng.asked, "send") {
		t.Error("no bytes were sent")
	}
}

// What is measured goes to the engine as bytes too: batches of a size that divides
// nothing, by an embedder that is kept.
func TestMeasuringOnBytesIsMeasuringOnNumbers(t *testing.T) {
	c := smallConfig(t, shades(t, 10, 7))
	c.Data.Validation, c.Run.EvalEvery, c.Epochs = .3, 1, 2
	plain := begin(t, c)
	fed, eng := beginFeeding(t, c)
	for _, s := range []*Session{plain, fed} {
		if err := s.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(plain.state.History, fed.state.History) {
		t.Errorf("epochs %+v, want %+v", fed.state.History, plain.state.History)
	}
	eng.asked = nil
	var rows [2]*run.Rows
	for i, s := range []*Session{plain, fed} {
		var err error
		if rows[i], err = run.EmbedImages(context.Background(), s.model, s.sets.Test, 0, run.Options{Workers: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(rows[0].X, rows[1].X) || len(rows[0].X) == 0 {
		t.Error("embeddings of bytes differ from those of numbers")
	}
	// A batch of the embedder's is sent while it is at the one before.
	if !slices.Contains(eng.asked, "send") {
		t.Errorf("asked: %v", eng.asked)
	}
}

// reading notes when the matrix of a loss comes to the host.
type reading struct {
	*feeding
	size int
}

func (r reading) Read(dst []float32, src engine.Tensor) error {
	if len(dst) == r.size {
		r.asked = append(r.asked, "read")
	}
	return r.Engine.Read(dst, src)
}

// While the host waits for what its loss is computed from, the next batch is on its
// way already.
func TestABatchIsSentBeforeTheHostWaitsForTheLoss(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Epochs, c.Loss.Name, c.WarmupEpochs = 1, "npairs", 0
	eng := reading{&feeding{Engine: newTestEngine(t)}, c.Batch() * c.Batch()}
	s, _ := beginOn(t, c, eng)
	n := s.sampler.Batches()
	eng.asked = nil
	if err := s.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := "send arrive " + strings.Repeat("send read update arrive ", n-1) + "read update"
	if got := strings.Join(eng.asked, " "); n < 2 || !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
