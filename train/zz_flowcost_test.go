package train

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/internal/cpu"
	"github.com/vernier-ml/vernier/model"
)

func TestZZFlowCost(t *testing.T) {
	size, _ := strconv.Atoi(os.Getenv("FLOW_SIZE"))
	batch, _ := strconv.Atoi(os.Getenv("FLOW_BATCH"))
	steps, _ := strconv.Atoi(os.Getenv("FLOW_STEPS"))
	eng, _ := cpu.New(cpu.Options{})
	nets := map[string]*network{}
	for _, flow := range []string{"", os.Getenv("FLOW")} {
		s := &Settings{}
		if err := s.Add(Setting{Path: "preset", Value: "drml-cub200-triplet"}, Setting{Path: "weights.path", Value: "none"}, Setting{Path: "model.flow", Value: flow}, Setting{Path: "model.input.size", Value: size},
		Setting{Path: "freeze.bn_stats", Value: false}); err != nil {
			t.Fatal(err)
		}
		c, err := s.Config()
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.New(eng, c.Model, 1)
		if err != nil {
			t.Fatal(err)
		}
		m.Freeze(c.Freeze, false)
		o, _ := c.objective(15)
		n, err := buildNetwork(m, o, batch)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("flow %q: %d MiB\n", flow, n.g.Bytes()>>20)
		x := make([]float32, n.images.Shape().TotalSize())
		rng := rand.New(rand.NewPCG(1, 1))
		plane := len(x) / batch
		lines := make([]float32, plane)
		for i := range lines { lines[i] = float32(rng.NormFloat64()) * 40 }
		for i := range batch {
			a := float32(rng.NormFloat64())
			for p := range plane {
				x[i*plane+p] = a*lines[p] + float32(rng.NormFloat64())*20
			}
		}
		eng.Write(n.g.Value(n.images), x)
		labels := make([]int, batch)
		for i := range labels { labels[i] = i % 15 }
		n.loss.SetLabels(labels)
		n.loss.SetItems(make([]int, batch))
		nets[flow] = n
	}
	for i := range steps {
		for _, flow := range []string{"", os.Getenv("FLOW")} {
			start := time.Now()
			if err := nets[flow].g.Run(); err != nil {
				t.Fatal(err)
			}
			fmt.Printf("step %d flow %q: %.2fs %+v\n", i, flow, time.Since(start).Seconds(), nets[flow].g.Flows())
		}
	}
}
