package main

import (
	"io"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/cuda"
)

func TestDeviceIsChosenByItsFlag(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	for _, c := range []struct {
		flags deviceFlags
		want  string // of the error
	}{
		{deviceFlags{device: "cpu", precision: "tf32"}, ""},
		{deviceFlags{device: "gpu", precision: "tf32"}, "--device gpu: want auto, cpu, cuda"},
		{deviceFlags{device: "cuda:x", precision: "tf32"}, "--device cuda:x: want auto"},
		{deviceFlags{device: "cuda:-1", precision: "tf32"}, "--device cuda:-1: want auto"},
		{deviceFlags{device: "cpu:0", precision: "tf32"}, "--device cpu:0: want auto"},
		{deviceFlags{device: "cpu", precision: "fp16"}, "--precision: unknown precision"},
	} {
		e, err := c.flags.open(1, log)
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
	f := deviceFlags{device: "cuda", precision: "tf32"}
	if _, err := f.open(1, log); err == nil || !strings.Contains(err.Error(), "make build-gpu") {
		t.Errorf("a GPU in a program without its engine: %v", err)
	}
}
