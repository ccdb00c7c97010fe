//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// stopper ends a run after steps steps; 0 lets it continue.
type stopper struct {
	after  int
	cancel context.CancelFunc
}

func (s *stopper) Say(string, ...any)  {}
func (s *stopper) Warn(string, ...any) {}
func (s *stopper) Progress(_ string, done, _ int, _ string) {
	if done == s.after {
		s.cancel()
	}
}

// shades writes classes of gray images with a bright pixel.
func shades(t *testing.T) string {
	return pictures(t, 6, 4, func(img *image.Gray, c, i int) {
		for p := range img.Pix {
			img.Pix[p] = uint8(30 * c)
		}
		img.SetGray(3*i, 15-3*i, color.Gray{Y: 255})
	})
}

// marks writes many classes of two images, whose first row is the class's number.
func marks(t *testing.T, classes int) string {
	return pictures(t, classes, 2, func(img *image.Gray, c, i int) {
		for bit := range 16 {
			img.SetGray(bit, i, color.Gray{Y: uint8(255 * (c >> bit & 1))})
		}
	})
}

// pictures writes a folder of classes, each image painted on black.
func pictures(t *testing.T, classes, images int, paint func(img *image.Gray, class, i int)) string {
	t.Helper()
	root := t.TempDir()
	for c := range classes {
		dir := filepath.Join(root, fmt.Sprintf("class %d", c))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range images {
			img := image.NewGray(image.Rect(0, 0, 16, 16))
			paint(img, c, i)
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.png", i)))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(png.Encode(f, img), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// runOf starts or resumes a run, and stops it after steps steps; 0 lets it end. It
// returns the parameters.
func runOf(t *testing.T, c run.Config, folder run.Folder, eng engine.Engine, resume bool, stop int) map[string][]float32 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opt := train.Options{Workers: 1, Events: &stopper{stop, cancel}}
	var s *train.Session
	var err error
	if resume {
		s, err = train.Resume(ctx, folder, eng, opt)
	} else {
		s, err = train.Start(ctx, c, folder, eng, opt)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if told, want := strings.Contains(s.Describe(), "and the loss,"), c.Data.TrainClasses == "1001"; told != want {
		t.Errorf("on %s: the loss stays there is %v: %s", eng.Name(), !want, s.Describe())
	}
	if err := s.Train(ctx); err != nil && (stop == 0 || !errors.Is(err, context.Canceled)) {
		t.Fatal(err)
	}
	values := map[string][]float32{}
	for _, p := range s.Model().Params.All() {
		v := make([]float32, p.Value.Size())
		if err := eng.Read(v, p.Value); err != nil {
			t.Fatal(err)
		}
		values[p.Name] = v
	}
	return values
}

// A run that began on one device continues on the other, and ends where one that
// stayed does. With more than 1,000 classes both engines compute the loss.
func TestARunMovesBetweenDevices(t *testing.T) {
	few := run.Default("folder:" + shades(t))
	few.Epochs = 2
	many := manyClasses(t, 3)
	for what, c := range map[string]run.Config{"few classes": few, "1,001 classes": many} {
		t.Run(what, func(t *testing.T) {
			c.Data.Augment, c.Data.Validation = "none", 0
			c.Model.Input = c.Model.Input.WithSize(16)
			c.Model.Dim, c.Loss.Name = 8, "proxy-anchor"
			c.ClassesPerBatch, c.ImagesPerClass = 2, 2
			c.Optimizer.Rate = 1e-3
			eng, _, _ := newFake(t, Options{})
			host, err := cpu.New(cpu.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			want := runOf(t, c, run.Folder(filepath.Join(t.TempDir(), "stayed")), host, false, 0)
			for name, engines := range map[string][2]engine.Engine{"to the GPU": {host, eng}, "from the GPU": {eng, host}} {
				moved := run.Folder(filepath.Join(t.TempDir(), name))
				runOf(t, c, moved, engines[0], false, 1)
				for param, v := range runOf(t, c, moved, engines[1], true, 0) {
					for i, w := range want[param] {
						if math.Abs(float64(v[i]-w)) > 5e-3*(1+math.Abs(float64(w))) {
							t.Errorf("%s: %s[%d] is %v, want %v", name, param, i, v[i], w)
							break
						}
					}
				}
			}
		})
	}
}

// On one device a run that is stopped while the next batch is on its way, and continues
// , ends with the bits of one that never stopped.
func TestARunOnADeviceGoesOnExactly(t *testing.T) {
	c := run.Default("folder:" + shades(t))
	c.Data.Augment, c.Data.Validation = "photos", 0
	c.Model.Input = c.Model.Input.WithSize(16)
	c.Model.Dim, c.Loss.Name = 8, "proxy-anchor"
	c.Epochs, c.ClassesPerBatch, c.ImagesPerClass = 2, 2, 2
	eng, _, _ := newFake(t, Options{})
	want := runOf(t, c, run.Folder(filepath.Join(t.TempDir(), "straight")), eng, false, 0)
	stopped := run.Folder(filepath.Join(t.TempDir(), "stopped"))
	runOf(t, c, stopped, eng, false, 1)
	for param, v := range runOf(t, c, stopped, eng, true, 0) {
		if !slices.Equal(v, want[param]) {
			t.Errorf("%s differs", param)
		}
	}
}

// However late copies and computation are, a run ends with the same bits: nothing
// reads what has not arrived, and nothing is written over that is still read.
func TestARunDoesNotDependOnHowLateStreamsAre(t *testing.T) {
	c := run.Default("folder:" + shades(t))
	c.Data.Augment, c.Data.Validation = "photos", 0
	c.Model.Input = c.Model.Input.WithSize(16)
	c.Model.Dim, c.Loss.Name, c.Loss.Start = 8, "proxy-anchor", "random"
	c.Steps, c.ClassesPerBatch, c.ImagesPerClass = 4, 2, 2
	c.Optimizer.ClipNorm = .5
	eng, _, _ := newFake(t, Options{})
	want := runOf(t, c, run.Folder(filepath.Join(t.TempDir(), "run")), eng, false, 0)
	lazily(t, func(t *testing.T, eng *Engine) {
		for param, v := range runOf(t, c, run.Folder(filepath.Join(t.TempDir(), "run")), eng, false, 0) {
			if !slices.Equal(v, want[param]) {
				t.Errorf("%s differs", param)
			}
		}
	})
}

// manyClasses is a run on 1001 classes, for which the loss stays on the device.
func manyClasses(t *testing.T, steps int) run.Config {
	c := run.Default("folder:" + marks(t, 1003))
	c.Data.TrainClasses, c.Data.Augment, c.Data.Validation = "1001", "none", 0
	c.Model.Input = c.Model.Input.WithSize(16)
	c.Model.Dim, c.Loss.Name, c.Loss.Start = 8, "proxy-anchor", "random"
	c.Steps, c.ClassesPerBatch, c.ImagesPerClass = steps, 2, 2
	return c
}

// watcher calls a function after each step.
type watcher struct{ after func(step int) }

func (watcher) Say(string, ...any)  {}
func (watcher) Warn(string, ...any) {}
func (w watcher) Progress(task string, done, _ int, _ string) {
	if strings.HasPrefix(task, "epoch") {
		w.after(done)
	}
}

// Where the loss is the device's a step keeps nobody waiting: what it tells is asked
// for when the next one is under way.
func TestNobodyWaitsInAStepWithTheLossOnTheDevice(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	const steps = 6
	var waits [steps + 1]int
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	s, err := train.Start(t.Context(), manyClasses(t, steps), folder, eng, train.Options{Workers: 1, Events: watcher{func(step int) {
		waits[step] = dev.Calls["Synchronize"]
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The first steps choose algorithms, record, and look for parameters without
	// gradients; the last one is settled.
	if before, then := waits[3], waits[5]; then != before {
		t.Errorf("two steps wait %d times", then-before)
	}
}

func TestALossOnTheDeviceThatIsNotFiniteStopsTheRunAtItsStep(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	var s *train.Session
	spoil := func(step int) {
		if step != 2 {
			return
		}
		p := s.Model().Params.Get(losses.ClassRowsParam).Value
		v := make([]float32, p.Size())
		v[0] = float32(math.NaN())
		if err := eng.Write(p, v); err != nil {
			t.Fatal(err)
		}
	}
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	s, err := train.Start(t.Context(), manyClasses(t, 4), folder, eng, train.Options{Workers: 1, Events: watcher{spoil}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var diverged *train.DivergedError
	if err := s.Train(t.Context()); !errors.As(err, &diverged) {
		t.Fatalf("got %v, want a run that has diverged", err)
	}
	if diverged.Step != 3 || diverged.What != "the loss is NaN" || !strings.HasPrefix(diverged.Node, "loss.proxies") {
		t.Errorf("got %+v, want step 3 and the class rows", diverged)
	}
}
