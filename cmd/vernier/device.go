package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cuda"
	"github.com/vernier-ml/vernier/internal/cpu"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/train"
)

// engine is what commands compute on.
type engine interface {
	layers.Engine
	io.Closer
}

// deviceFlags choose it.
type deviceFlags struct {
	device, precision string
	deterministic     bool
}

func (f *deviceFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.device, "device", "auto", "what computes: cpu, cuda or cuda:N (the GPU of that number), or auto: a GPU if there is one")
	fl.StringVar(&f.precision, "precision", "tf32", "of a GPU's products and maps: tf32, fp32 or bf16; parameters and distances are float32 in all")
	fl.BoolVar(&f.deterministic, "deterministic", false, "let a GPU choose convolutions that give the same bits each time; the CPU always does")
}

// parseDevice reads a value of --device.
func parseDevice(text string) (d struct {
	kind   string // auto, cpu or cuda
	number int    // of the GPU
}, err error) {
	wrong := errors.New("want auto, cpu, cuda, or cuda:N with the number of a GPU")
	kind, number, numbered := strings.Cut(text, ":")
	if d.kind = kind; numbered {
		if d.number, err = strconv.Atoi(number); err != nil || d.number < 0 || kind != "cuda" {
			return d, wrong
		}
	}
	if !slices.Contains([]string{"auto", "cpu", "cuda"}, kind) {
		return d, wrong
	}
	return d, nil
}

// open makes the engine. A GPU that there is but that cannot be used is an error
// if it was asked for, and is told of if not.
func (f *deviceFlags) open(threads int, log *logrus.Logger) (engine, error) {
	opt := cuda.Options{Deterministic: f.deterministic}
	var err error
	if opt.Precision, err = cuda.ParsePrecision(f.precision); err != nil {
		return nil, fmt.Errorf("--precision: %w", err)
	}
	d, err := parseDevice(f.device)
	if err != nil {
		return nil, fmt.Errorf("--device %s: %w", f.device, err)
	}
	opt.Device = d.number
	switch d.kind {
	case "cuda":
		e, err := cuda.Open(opt)
		if err != nil {
			return nil, fmt.Errorf("--device %s: %w (vernier doctor tells more)", f.device, err)
		}
		log.Infof("computing on %s", e.Name())
		return e, nil
	case "auto":
		if e := f.automatic(opt, log); e != nil {
			return e, nil
		}
	}
	return newEngine(threads)
}

// automatic returns a GPU's engine, or nil; where a machine has a driver, it says
// why its GPU is not used.
func (f *deviceFlags) automatic(opt cuda.Options, log *logrus.Logger) engine {
	machine := cuda.Probe()
	if machine.Driver == "" && !cuda.Built {
		return nil
	}
	e, err := cuda.Open(opt)
	if err == nil {
		log.Infof("computing on %s", e.Name())
		return e
	}
	if machine.Driver != "" || len(machine.GPUs) > 0 {
		log.Warnf("computing on the CPU: %v", err)
	}
	return nil
}

// openRun opens a run and what computes with it, which the caller closes.
func (f *deviceFlags) openRun(path string, threads int, log *logrus.Logger) (train.Folder, engine, error) {
	folder, err := train.Open(path)
	if err != nil {
		return "", nil, err
	}
	eng, err := f.open(threads, log)
	return folder, eng, err
}

func newEngine(threads int) (*cpu.Engine, error) {
	return cpu.New(cpu.Options{Threads: threads})
}
