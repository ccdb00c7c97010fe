package train

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/run"
)

// peakMemory is the most that this process has had resident, in MiB.
func peakMemory(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	b.Skip("the kernel does not tell the peak of memory")
	return 0
}

// BenchmarkTrainingStep runs training steps of large networks with AdamW and
// reports the peak of the process's memory, which is that of the largest network
// so far: run one at a time, with -bench '/bninception$'.
func BenchmarkTrainingStep(b *testing.B) {
	const classes, perClass, size = 8, 2, 224
	for _, spec := range []string{"bninception", "resnet50", "vits16"} {
		b.Run(spec, func(b *testing.B) {
			eng, err := cpu.New(cpu.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer eng.Close()
			net, err := backbone.New(spec)
			if err != nil {
				b.Fatal(err)
			}
			c := run.Default("")
			c.Model.Backbone, c.Model.Input, c.Model.Pool, c.Model.Dim = spec, net.Preprocessing().WithSize(size), model.DefaultPool(net), 512
			c.Model.Metric, c.Loss.Name = metric.Metric{Kind: metric.Cosine}, "proxy-anchor"
			m, err := model.New(eng, c.Model, 1)
			if err != nil {
				b.Fatal(err)
			}
			goal, err := objectiveOf(c, classes)
			if err != nil {
				b.Fatal(err)
			}
			step, err := buildNetwork(m, goal, classes*perClass, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer step.g.Close()
			opt, err := optim.New(c.Optimizer, m.Params, step.g)
			if err != nil {
				b.Fatal(err)
			}
			labels := make([]int, classes*perClass)
			for i := range labels {
				labels[i] = i / perClass
			}
			if err := step.loss.SetLabels(labels); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := step.g.Run(); err != nil {
					b.Fatal(err)
				}
				if _, err := opt.Step(1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(peakMemory(b), "peak-MiB")
			b.ReportMetric(float64(step.g.Bytes())/(1<<20), "buffers-MiB")
		})
	}
}
