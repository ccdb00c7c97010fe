package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/cuda"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

func TestDeviceIsChosenByItsFlag(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	for _, c := range []struct {
		flags DeviceFlags
		want  string // of the error
	}{
		{DeviceFlags{device: "cpu", precision: "tf32"}, ""},
		{DeviceFlags{device: "gpu", precision: "tf32"}, "--device gpu: want auto, cpu, cuda"},
		{DeviceFlags{device: "cuda:x", precision: "tf32"}, "--device cuda:x: want auto"},
		{DeviceFlags{device: "cuda:-1", precision: "tf32"}, "--device cuda:-1: want auto"},
		{DeviceFlags{device: "cpu:0", precision: "tf32"}, "--device cpu:0: want auto"},
		{DeviceFlags{device: "cpu", precision: "fp16"}, "--precision fp16: want tf32, fp32 or bf16"},
		{DeviceFlags{device: "cuda:+1", precision: "tf32"}, "--device cuda:+1: want auto"},
		{DeviceFlags{device: "cuda:01", precision: "tf32"}, "--device cuda:01: want auto"},
	} {
		e, err := c.flags.Open(1, log)
		if err == nil {
			e.Close()
		}
		if (c.want == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.flags, err, c.want)
		}
	}
	if cuda.Built {
		return
	}
	f := DeviceFlags{device: "cuda", precision: "tf32"}
	if _, err := f.Open(1, log); err == nil || !strings.Contains(err.Error(), "make build-gpu") {
		t.Errorf("a GPU in a program without its engine: %v", err)
	}
}

// named is an engine that goes by another name.
type named struct {
	Engine
	name string
}

func (n named) Name() string { return n.name }

// Whatever keeps auto from a GPU, one line says so.
func TestAutoSaysWhyItComputesWhereItDoes(t *testing.T) {
	absent := cuda.Problem{What: "no NVIDIA driver: libcuda.so.1 is not found", NoDriver: true}
	missing := cuda.Problem{What: "cuBLAS is missing", Advice: "pip install it"}
	old := errors.New("cuda:0: GTX 1080 has compute capability 6.1")
	narrow := "info computing on "
	if e, err := cpu.New(cpu.Options{Threads: 1, Precision: cpu.BF16}); err == nil {
		narrow += e.Name()
		e.Close()
	} else {
		narrow = "warning --precision bf16: " + err.Error()
	}
	for _, c := range []struct {
		name   string
		built  bool
		driver string
		passed []error
		err    error
		flag   string // --precision, where it is given
		want   []string
	}{
		{"without a driver", true, "", nil, absent, "", []string{"info no GPU: no NVIDIA driver: libcuda.so.1 is not found; computing on the CPU"}},
		{"with a module but no library of the driver", true, "550", nil, absent, "", []string{"warning no GPU: no NVIDIA driver: libcuda.so.1 is not found; computing on the CPU"}},
		{"without libraries, where no module is seen", true, "", nil, errors.Join(missing, errors.New("and more")), "", []string{"warning no GPU: cuBLAS is missing; pip install it; and more; computing on the CPU"}},
		{"an engine that does not start", true, "550", nil, errors.New("cuda:0: context: error 2"), "", []string{"warning no GPU: cuda:0: context: error 2; computing on the CPU"}},
		{"a plain build on a machine without a driver", false, "", nil, errors.New("built without"), "", nil},
		{"a plain build on a machine with one", false, "550", nil, errors.New("built without"), "", []string{"warning no GPU: built without; computing on the CPU"}},
		{"a GPU", true, "550", nil, nil, "bf16", []string{"info computing on cuda:1"}},
		{"the second GPU", true, "550", []error{old}, nil, "", []string{"warning not used: " + old.Error(), "info computing on cuda:1"}},
		{"a precision that some CPUs have", true, "", nil, absent, "bf16", []string{
			"info no GPU: no NVIDIA driver: libcuda.so.1 is not found; computing on the CPU", narrow}},
		{"the precision of every CPU", false, "", nil, errors.New("built without"), "fp32", nil},
		{"the usual precision of GPUs, given", false, "", nil, errors.New("built without"), "tf32", []string{"warning --precision tf32 is for a GPU: the CPU computes in fp32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, hook := test.NewNullLogger()
			var f DeviceFlags
			fl := pflag.NewFlagSet("", pflag.ContinueOnError)
			f.Add(fl)
			if c.flag != "" {
				if err := fl.Set("precision", c.flag); err != nil {
					t.Fatal(err)
				}
			}
			host, err := NewCPU(1)
			if err != nil {
				t.Fatal(err)
			}
			g := gpus{built: c.built, probe: func() cuda.Machine { return cuda.Machine{Driver: c.driver} },
				first: func(cuda.Options) (Engine, []error, error) { return named{host, "cuda:1"}, c.passed, c.err }}
			e, err := f.openOn(g, 1, log)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if info := e.(engine.Informer).Info(); c.err != nil && info.Precision == cpu.BF16 && c.flag != "bf16" {
				t.Errorf("computes in %v", info)
			}
			if gpu := e.Name() == "cuda:1"; gpu != (c.err == nil) {
				t.Errorf("computes on %s", e.Name())
			}
			var got []string
			for _, entry := range hook.AllEntries() {
				got = append(got, entry.Level.String()+" "+entry.Message)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("said %q, want %q", got, c.want)
			}
		})
	}
}

// parsedDevice are the flags of a command line.
func parsedDevice(t *testing.T, args ...string) *DeviceFlags {
	t.Helper()
	var f DeviceFlags
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(fl)
	if err := fl.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &f
}

// A run continues as a GPU computed it so far unless a flag says otherwise.
func TestWhatIsNotGivenGoesOnAsOnTheGPUBefore(t *testing.T) {
	bf16 := engine.Info{Kind: engine.CUDA, Device: "H100", Precision: "bf16", Deterministic: true}
	for _, c := range []struct {
		args          []string
		before        engine.Info
		precision     string
		deterministic bool
	}{
		{nil, bf16, "bf16", true},
		{[]string{"--precision", "fp32"}, bf16, "fp32", true},
		{[]string{"--deterministic=false"}, bf16, "bf16", false},
		{nil, engine.Info{Kind: engine.CPU, Precision: "fp32", Deterministic: true}, "tf32", false},
		{nil, engine.Info{Kind: engine.CPU, Precision: "bf16", Deterministic: true}, "bf16", false},
		{[]string{"--precision", "fp32"}, engine.Info{Kind: engine.CPU, Precision: "bf16"}, "fp32", false},
		{nil, engine.Info{}, "tf32", false},
	} {
		f := parsedDevice(t, c.args...)
		f.Continue(c.before)
		if f.precision != c.precision || f.deterministic != c.deterministic {
			t.Errorf("%v after %v: %s, deterministic %v", c.args, c.before, f.precision, f.deterministic)
		}
	}
}

// posing is an engine that says it is another.
type posing struct {
	engine.Engine
	info engine.Info
}

func (p posing) Info() engine.Info { return p.info }

// A run is measured, embedded and exported in the precision it was trained in.
func TestARunIsReadInItsPrecision(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	host, err := NewCPU(1)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	bf16 := engine.Info{Kind: engine.CUDA, Device: "H100", Precision: "bf16", Deterministic: true}
	cfg := run.Default("folder:" + clitest.Stripes(t, 6, 4))
	cfg.Data.Augment, cfg.Data.Validation = "none", 0
	cfg.ClassesPerBatch, cfg.ImagesPerClass = 3, 2
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	s, err := train.Start(t.Context(), cfg, folder, posing{host, bf16}, train.Options{Workers: 1, Events: NewReporter(log, nil)})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	read := func(want string, deterministic bool, args ...string) {
		t.Helper()
		f := parsedDevice(t, args...)
		_, eng, err := f.OpenRun(string(folder), 1, log)
		if err != nil {
			t.Fatal(err)
		}
		eng.Close()
		if f.precision != want || f.deterministic != deterministic {
			t.Errorf("%v: %s, deterministic %v, want %s, %v", args, f.precision, f.deterministic, want, deterministic)
		}
	}
	read("bf16", true)
	read("fp32", true, "--precision", "fp32")
	if err := os.Remove(folder.Path(run.CheckpointFile)); err != nil {
		t.Fatal(err)
	}
	read("tf32", false)
}
