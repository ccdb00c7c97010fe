//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/cuda/internal/fake"
	"github.com/vernier-ml/vernier/cuda/internal/native"
	"github.com/vernier-ml/vernier/engine"
)

// The host never touches device memory but through the driver: in this test it
// would be a fault that ends the process.
func TestAStepOnMemoryThatTheHostCannotReach(t *testing.T) {
	d := fake.New(1 << 30)
	d.Hidden = true
	eng, _ := onFake(t, d, Options{})
	n := newTrainer(t, eng)
	for range 5 {
		n.step(t)
	}
}

func TestMemoryComesBackAndIsUsedAgain(t *testing.T) {
	eng, d, _ := newFake(t, Options{})
	make10 := func() {
		for range 10 {
			if _, err := eng.New(100, 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	make10()
	before := d.Calls["Alloc"]
	deadline := time.Now().Add(10 * time.Second)
	for len(eng.memory.sizes()) < 10 && time.Now().Before(deadline) {
		eng.memory.collect()
	}
	if got := len(eng.memory.sizes()); got < 10 {
		t.Fatalf("%d of 10 tensors came back", got)
	}
	make10()
	if got := d.Calls["Alloc"]; got != before {
		t.Errorf("%d allocations for tensors of a size that is cached", got-before)
	}
}

func TestOutOfMemorySaysHowMuchByWhomAndWhatToLower(t *testing.T) {
	d := fake.New(128 << 20)
	eng, _ := onFake(t, d, Options{})
	keep := []engine.Tensor{}
	for {
		x, err := eng.New(1<<10, 1<<10, 4)
		if err == nil {
			keep = append(keep, x)
			continue
		}
		var memory *MemoryError
		if !errors.As(err, &memory) {
			t.Fatal(err)
		}
		for _, want := range []string{"new: a tensor of shape [1024 1024 4]", "16.0 MiB are needed", "of the GPU's 128.0 MiB", "in use by this program", "images_per_class", "micro_batch", "precision bf16"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
		break
	}
	runtime.KeepAlive(keep)
	// What nobody holds any more is found before an allocation fails.
	keep = nil
	if _, err := eng.New(1<<10, 1<<10, 4); err != nil {
		t.Error(err)
	}
	// What is cached in another size is, too.
	if _, err := eng.New(1<<10, 1<<10, 8); err != nil {
		t.Error(err)
	}
}

func TestOutOfMemoryInBfloat16DoesNotAdviseIt(t *testing.T) {
	eng, _ := onFake(t, fake.New(128<<20), Options{Precision: BF16})
	_, err := eng.New(1<<12, 1<<12, 4)
	if memory := new(MemoryError); !errors.As(err, &memory) || strings.Contains(err.Error(), "bf16") || !strings.Contains(err.Error(), "micro_batch") {
		t.Errorf("%v", err)
	}
}

func TestSizeClassesWasteLittle(t *testing.T) {
	for _, bytes := range []int64{0, 1, 255, 256, 257, 5000, 1 << 20, 1<<20 + 1, 3e9} {
		got := sizeClass(bytes)
		if got < bytes || got%alignment != 0 || bytes > 4096 && float64(got) > 1.13*float64(bytes) || sizeClass(got) != got {
			t.Errorf("%d bytes take %d", bytes, got)
		}
	}
	for bytes, want := range map[int64]int64{257: 512, 4097: 4608, 60 << 20: 60 << 20, 64<<20 + 1: 66 << 20, 66 << 30: 66 << 30, 66<<30 + 5<<20: 66<<30 + 6<<20} {
		if got := sizeClass(bytes); got != want {
			t.Errorf("%d bytes take %d, want %d", bytes, got, want)
		}
	}
}

func TestNumbersTravelInEverySize(t *testing.T) {
	eng, d, _ := newFake(t, Options{})
	rng := rand.New(rand.NewPCG(1, 1))
	var sent [][]float32
	var tensors []engine.Tensor
	for i := range 40 { // more than there are places, small and large ones mixed
		shape := []int{1 + i%3, 1 + i%5, 7, 9}
		if i%4 == 0 {
			shape = []int{2, 3, 70 + i, 90}
		}
		if i%16 == 7 {
			shape = []int{3, 1000, 1000} // more than a piece
		}
		x, err := eng.New(shape...)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float32, x.Size())
		for j := range v {
			v[j] = rng.Float32()
		}
		if err := eng.Write(x, v); err != nil {
			t.Fatal(err)
		}
		sent, tensors = append(sent, append([]float32(nil), v...)), append(tensors, x)
		clear(v) // Write must not need it any more
	}
	for i, x := range tensors {
		got := make([]float32, x.Size())
		if err := eng.Read(got, x); err != nil {
			t.Fatal(err)
		}
		for j := range got {
			if got[j] != sent[i][j] {
				t.Fatalf("tensor %d %v: [%d] is %v, want %v", i, x.Shape(), j, got[j], sent[i][j])
			}
		}
	}
	if d.Calls["Synchronize"] > len(tensors)+1 {
		t.Errorf("%d waits for %d reads: writing must not wait", d.Calls["Synchronize"], len(tensors))
	}
}

func TestAClosedEngineLeavesNothingBehind(t *testing.T) {
	d := fake.New(1 << 30)
	eng, _ := onFake(t, d, Options{})
	n := newTrainer(t, eng)
	for range 4 {
		n.step(t)
	}
	if err := n.g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := d.Leaked(), "0 host buffers, 0 events, 0 streams, 0 graphs"; got != want {
		t.Errorf("left: %s", got)
	}
	if err := eng.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestFaultsOfTheDeviceNameTheOperation(t *testing.T) {
	eng, d, dnn := newFake(t, Options{})
	x, err := eng.New(2, 3, 5, 5)
	if err != nil {
		t.Fatal(err)
	}
	w, err := eng.New(4, 3, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	y, err := eng.New(2, 4, 5, 5)
	if err != nil {
		t.Fatal(err)
	}
	fail := ""
	d.Fault = func(call string) error {
		if call == fail {
			return fmt.Errorf("an illegal address")
		}
		return nil
	}
	defer func() { d.Fault = nil }()
	conv := func() error { return eng.Conv(y, x, w, engine.SquareConv(3, 1, 1), engine.Epilogue{}) }
	if err := conv(); err != nil || dnn.Plans != 1 {
		t.Fatalf("%v, %d searches", err, dnn.Plans)
	}
	if err := conv(); err != nil || dnn.Plans != 1 {
		t.Errorf("%v; %d searches for one shape", err, dnn.Plans)
	}
	for call, f := range map[string]func() error{
		"Launch":   func() error { return eng.ReLU(y, y) },
		"Convolve": conv,
		"Download": func() error { return eng.Read(make([]float32, x.Size()), x) },
		"Upload":   func() error { return eng.Write(x, make([]float32, x.Size())) },
	} {
		fail = call
		if err := f(); err == nil || !strings.HasPrefix(err.Error(), "cuda: ") || !strings.HasSuffix(err.Error(), "an illegal address") {
			t.Errorf("%s fails: %v", call, err)
		}
	}
}

func TestGPUsThatCannotServeAreRefused(t *testing.T) {
	for _, c := range []struct {
		major     int
		precision Precision
		want      string
	}{{6, TF32, "7.0 (Volta)"}, {7, BF16, "bf16 needs 8.0"}, {7, TF32, ""}, {8, BF16, ""}} {
		err := capable(native.Device{Name: "X", Major: c.major}, Options{Precision: c.precision})
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("capability %d, %v: %v, want %q", c.major, c.precision, err, c.want)
		}
	}
}

func TestPrecisionsAreReadAndWritten(t *testing.T) {
	for _, p := range []Precision{TF32, FP32, BF16} {
		if got, err := ParsePrecision(p.String()); err != nil || got != p {
			t.Errorf("%v becomes %v, %v", p, got, err)
		}
	}
	if _, err := ParsePrecision("fp16"); err == nil || !strings.Contains(err.Error(), "tf32, fp32 or bf16") {
		t.Errorf("fp16: %v", err)
	}
}

// A plan that is compared with the free memory has to find as much there as Memory reports.
func TestFreeMemoryIsWithoutWhatLibrariesWillTake(t *testing.T) {
	const total, workspace = 1 << 30, 100 << 20
	eng, _ := onFake(t, fake.New(total), Options{Workspace: workspace})
	free := func() int64 {
		t.Helper()
		free, all, err := eng.Memory()
		if err != nil || all != total {
			t.Fatalf("%d of %d, %v", free, all, err)
		}
		return free
	}
	if got, want := free(), int64(total)-eng.memory.held()-workspace-total/32; got > want || got < want-1<<20 {
		t.Errorf("before the first convolution %d MiB are free, want %d", got>>20, want>>20)
	}
	conv, _ := ones(t, eng)
	if err := conv(); err != nil {
		t.Fatal(err)
	}
	if got, want := free(), int64(total)-eng.memory.held(); got > want || got < want-1<<20 {
		t.Errorf("after it %d MiB are free, want %d", got>>20, want>>20)
	}
	if got, want := libraryMemory(80<<30), int64(512<<20); got != want {
		t.Errorf("libraries are expected to take %d on a large device, want %d", got, want)
	}
}
