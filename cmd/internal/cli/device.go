package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/cuda"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/run"
)

// Engine is what a command computes on, until it closes it.
type Engine interface {
	engine.Engine
	io.Closer
}

// DeviceFlags choose the engine of a command: --device, --precision and --deterministic.
type DeviceFlags struct {
	device, precision string
	deterministic     bool
	narrowed          bool           // on the CPU before, see Continue
	flags             *pflag.FlagSet // that they were added to
}

// Add adds the flags to fl.
func (f *DeviceFlags) Add(fl *pflag.FlagSet) {
	f.flags = fl
	fl.StringVar(&f.device, "device", "auto", "device that computes: cpu, cuda or cuda:N (the GPU of that number), or auto: the first GPU that can be used, else the CPU; of several processes on a machine each takes the GPU of its number unless N is given")
	fl.StringVar(&f.precision, "precision", "tf32", "precision of products, and of maps on a GPU: tf32 (fp32 on the CPU), fp32 or bf16 (on the CPU with AVX-512 BF16 only); parameters and distances are float32 in all")
	fl.BoolVar(&f.deterministic, "deterministic", false, "let a GPU choose convolutions that give the same bits each time; the CPU always does")
}

// parseDevice reads a value of --device.
func parseDevice(text string) (d struct {
	kind   string // auto, cpu or cuda
	number int    // of the GPU, -1 where it is not said
}, err error) {
	wrong := errors.New("want auto, cpu, cuda, or cuda:N with the number of a GPU")
	kind, number, numbered := strings.Cut(text, ":")
	if d.kind, d.number = kind, -1; numbered {
		if d.number, err = strconv.Atoi(number); err != nil || number != strconv.Itoa(d.number) || d.number < 0 || kind != "cuda" {
			return d, wrong
		}
	}
	if !slices.Contains([]string{"auto", "cpu", "cuda"}, kind) {
		return d, wrong
	}
	return d, nil
}

// gpus is how GPUs are found and opened.
type gpus struct {
	built bool // into this program
	probe func() cuda.Machine
	open  func(cuda.Options) (Engine, error)
	first func(cuda.Options) (e Engine, passed []error, err error) // see cuda.OpenFirst
}

// realGPUs are those of this machine.
func realGPUs() gpus {
	return gpus{
		built: cuda.Built, probe: cuda.Probe,
		open:  func(o cuda.Options) (Engine, error) { return cuda.Open(o) },
		first: func(o cuda.Options) (Engine, []error, error) { return cuda.OpenFirst(o) },
	}
}

// Open makes the engine, which the caller closes; threads are those of the CPU, 0 for all
// cores. A GPU that is there but cannot be used is an error if the user named it, and
// a warning in log if not.
func (f *DeviceFlags) Open(threads int, log *logrus.Logger) (Engine, error) {
	return f.openOn(realGPUs(), threads, log)
}

// Opener opens the engines of several runs at a time, and says only once what they compute
// on.
func (f *DeviceFlags) Opener(log *logrus.Logger) func(threads int) (Engine, error) {
	said := false
	var mu sync.Mutex
	return func(threads int) (Engine, error) {
		mu.Lock()
		defer mu.Unlock()
		to := log
		if said {
			to = logrus.New()
			to.SetOutput(io.Discard)
		}
		said = true
		return f.Open(threads, to)
	}
}

func (f *DeviceFlags) openOn(g gpus, threads int, log *logrus.Logger) (Engine, error) {
	opt := cuda.Options{Deterministic: f.deterministic, Warn: func(message string) { log.Warn(message) }}
	var err error
	if opt.Precision, err = cuda.ParsePrecision(f.precision); err != nil {
		return nil, fmt.Errorf("--precision %s: %w", f.precision, err)
	}
	d, err := parseDevice(f.device)
	if err != nil {
		return nil, fmt.Errorf("--device %s: %w", f.device, err)
	}
	opt.Turn = comm.LocalRank() // of several processes on a machine each takes another GPU
	if opt.Device = d.number; d.number < 0 {
		opt.Device = opt.Turn
	}
	switch d.kind {
	case "cuda":
		e, err := g.open(opt)
		if err != nil {
			return nil, fmt.Errorf("--device %s: %w (vernier doctor tells more)", f.device, err)
		}
		log.Infof("computing on %s", e.Name())
		return e, nil
	case "auto":
		if e := g.automatic(opt, log); e != nil {
			return e, nil
		}
	}
	switch {
	case opt.Precision == cuda.BF16 && (f.given("precision") || f.narrowed):
		return newNarrowCPU(threads, log)
	case opt.Precision == cuda.TF32 && f.given("precision"):
		log.Warnf("--precision tf32 is for a GPU: the CPU computes in fp32")
	}
	return NewCPU(threads)
}

// given reports whether the user set a flag.
func (f *DeviceFlags) given(name string) bool { return f.flags != nil && f.flags.Changed(name) }

// Continue takes precision and determinism, where the user gave none, from the engine that a
// run computed on so far, if that was a GPU, or the CPU in bf16.
func (f *DeviceFlags) Continue(with engine.Info) {
	if with.Kind != engine.CUDA {
		if f.narrowed = with.Precision == cpu.BF16 && !f.given("precision"); f.narrowed {
			f.precision = cpu.BF16
		}
		return
	}
	if !f.given("precision") {
		f.precision = with.Precision
	}
	if !f.given("deterministic") {
		f.deterministic = with.Deterministic
	}
}

// automatic returns the engine of the first GPU that can be used, or nil, and then
// says why there is none: always in a program that has the GPU engine, in another one
// where there is a driver.
func (g gpus) automatic(opt cuda.Options, log *logrus.Logger) Engine {
	driver := g.probe().Driver != ""
	if !driver && !g.built {
		return nil
	}
	e, passed, err := g.first(opt)
	if err == nil {
		for _, p := range passed {
			log.Warnf("not used: %s", oneLine(p))
		}
		log.Infof("computing on %s", e.Name())
		return e
	}
	say := log.Warnf
	if !driver && cuda.NoDriver(err) {
		say = log.Infof
	}
	say("no GPU: %s; computing on the CPU", oneLine(err))
	return nil
}

// oneLine is the text of joined errors.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// OpenRun opens a run and what computes with it, which the caller closes: as it was
// trained unless a flag says otherwise, so that its figures are those of its end. A
// run that has lost its checkpoint is read all the same.
func (f *DeviceFlags) OpenRun(path string, threads int, log *logrus.Logger) (run.Folder, Engine, error) {
	folder, err := run.Open(path)
	if err != nil {
		return "", nil, err
	}
	if before, err := folder.Engine(""); err == nil {
		f.Continue(before)
	}
	eng, err := f.Open(threads, log)
	return folder, eng, err
}
