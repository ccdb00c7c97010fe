//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"image"
	"image/color"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/fake"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// small is a run of a few steps, of a small network.
func small(t *testing.T) run.Config {
	c := run.Default("folder:" + pictures(t, 10, 4, func(img *image.Gray, c, i int) { img.SetGray(c, i, color.Gray{Y: 255}) }))
	c.Data.Augment, c.Data.Validation = "none", .4
	c.Model.Input = c.Model.Input.WithSize(16)
	c.Model.Dim, c.Epochs = 8, 1
	c.ClassesPerBatch, c.ImagesPerClass = 2, 2
	return c
}

// What lies on the device is compared with the device's memory, and what lies on the
// host with the host's.
func TestARunIsAdmittedByTheMemoryThatItLiesIn(t *testing.T) {
	const total = 2 << 30
	opt := train.Options{Workers: 1, Events: &stopper{after: -1}}
	eng, d, _ := newFake(t, Options{})
	const others = 100 << 20 // another program's
	p, err := d.Alloc(others)
	if err != nil {
		t.Fatal(err)
	}
	e, err := train.DryRun(t.Context(), small(t), eng, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Release(p); err != nil {
		t.Fatal(err)
	}
	m, on := e.Memory, e.Memory.Device
	if on == nil || m.Weights != 0 || m.Optimizer != 0 || m.Activations != 0 || m.Workspace != 0 || m.Program == 0 || m.Batches == 0 || m.Aside == 0 {
		t.Fatalf("of the host %+v", m)
	}
	if on.Weights < 4*int64(e.Trained) || on.Optimizer < 8*int64(e.Trained) || on.Activations == 0 || on.Workspace < blasWorkspace || on.Batches == 0 || on.Validation == 0 || on.End < 3*on.Weights {
		t.Errorf("of the device %+v", *on)
	}
	if e.DeviceTotal != on.Total() || e.DeviceRoom < total-others-(1<<20) || e.DeviceRoom > total-others || e.Total != m.Total() {
		t.Errorf("of the device %d MiB of %d, of the host %d MiB of %d", e.DeviceTotal>>20, e.DeviceRoom>>20, e.Total>>20, e.Room>>20)
	}
	if held := eng.Held(); held > total || held < on.Weights {
		t.Errorf("the engine holds %d", held)
	}

	// There is a size of device on which the run can be built, but not end: three
	// networks are there then.
	c := small(t)
	c.Model.Dim = 16384
	room := new(train.RoomError)
	for size := int64(80 << 20); room.Device == ""; size += 4 << 20 {
		little, _ := onFake(t, fake.New(size), Options{})
		var s *train.Session
		if s, err = train.Start(t.Context(), c, run.Folder(filepath.Join(t.TempDir(), "run")), little, opt); err == nil {
			s.Close()
			t.Fatalf("a device of %d MiB takes the run, a smaller one fails to build it", size>>20)
		}
		errors.As(err, &room)
	}
	if !strings.Contains(err.Error(), "the memory of cuda:0 (") || !strings.Contains(err.Error(), "activations and gradients") {
		t.Errorf("on a device that is too small: %v", err)
	}
	opt.Memory = 1 << 20
	_, err = train.Start(t.Context(), c, run.Folder(filepath.Join(t.TempDir(), "run")), eng, opt)
	if !errors.As(err, &room) || room.Device != "" || !strings.Contains(err.Error(), "the limit is 1 MiB") || strings.Contains(err.Error(), "weights") {
		t.Errorf("with a limit of the host: %v", err)
	}
}
