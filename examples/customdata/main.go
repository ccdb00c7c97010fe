// Program customdata trains on images that are in no folder: the program draws them. It
// also varies them and puts them into batches in ways of its own.
//
//	customdata RUN
//
// Started again with the same folder, it continues where it was stopped.
package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"log"
	"math"
	"math/rand/v2"
	"os"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

const (
	classes = 24 // flowers of 2 to 9 petals, each deep, middling or shallow
	images  = 12 // of each class, turned
	side    = 32 // pixels
)

// openFlowers makes the data set: the class of each image, and a function that makes
// the image when it is wanted. Several goroutines call it.
func openFlowers(string, data.Options) (*data.Set, error) {
	var labels []string
	for i := range classes * images {
		labels = append(labels, fmt.Sprintf("%d petals, depth %d", 2+i/images/3, i/images%3))
	}
	return data.NewSet("flowers", data.Images{
		Labels:  labels,
		Image:   func(_ context.Context, i int) (image.Image, error) { return flower(i), nil },
		Version: "1", // to be changed with what flower draws
	})
}

// flower draws image i: r < 0.6 + depth * cos(petals * angle).
func flower(i int) image.Image {
	class, turn := i/images, float64(i%images)
	petals, depth := float64(2+class/3), 0.15*float64(1+class%3)
	m := image.NewGray(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			u, v := (float64(x)+0.5)/side*2-1, (float64(y)+0.5)/side*2-1
			if math.Hypot(u, v) < 0.55+depth*math.Cos(petals*(math.Atan2(v, u)+turn)) {
				m.SetGray(x, y, color.Gray{Y: 220})
			}
		}
	}
	return m
}

// rain draws white dots at random places of an image.
type rain struct{ Dots int }

// Random says that Apply draws from its generator.
func (rain) Random() bool { return true }

// Apply draws from r alone, whose numbers depend on the seed of the run, the epoch and
// the image: so they are the same with any number of workers, and after a stop.
func (t rain) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	dst := pixels.NewRGB(src.W, src.H) // src is left as it is
	for y := range src.H {
		copy(dst.Row(y), src.Row(y))
	}
	for range t.Dots {
		at := 3 * r.IntN(src.W)
		copy(dst.Row(r.IntN(src.H))[at:at+3], []uint8{255, 255, 255})
	}
	return dst, nil
}

// alike makes batches of classes that are neighbors in the list of classes: flowers
// with as many petals, which are hard to tell apart. An epoch is a function of its
// number alone, so that a run can continue in the middle of one.
type alike struct {
	byClass       [][]int
	classes, each int // in a batch
	seed          uint64
}

func (s alike) Batches() int { return len(s.byClass) }

func (s alike) Epoch(epoch int) [][]int {
	r := rand.New(rand.NewPCG(s.seed, uint64(epoch)))
	plan := make([][]int, s.Batches())
	for b, first := range r.Perm(len(s.byClass)) {
		for c := range s.classes {
			items := s.byClass[(first+c)%len(s.byClass)]
			for _, k := range r.Perm(len(items))[:s.each] {
				plan[b] = append(plan[b], items[k])
			}
		}
	}
	return plan
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: customdata RUN")
	}
	// The names by which the settings of a run have them, now and when it is resumed.
	data.Register("flowers", openFlowers)
	transform.Register("rain", func(r transform.Recipe) ([]transform.Step, error) {
		return []transform.Step{r.Base(), transform.Flip{P: 0.5}, rain{Dots: 20}}, nil
	})
	data.RegisterSampler("alike", func(set *data.Set, o data.SamplerOptions) (data.Sampler, error) {
		return alike{set.ByClass(), o.Classes, o.Images, o.Seed}, nil
	})
	if err := work(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context, folder string) error {
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		return err
	}
	defer eng.Close()
	cfg := run.Default("flowers")
	cfg.Data.Augment, cfg.Sampler = "rain", "alike"
	cfg.Data.TrainClasses, cfg.Data.Validation = "random:0.5", 0.25
	cfg.Model.Dim = 16
	cfg.ClassesPerBatch, cfg.ImagesPerClass = 4, 4
	cfg.Epochs = 6
	session, err := train.Open(ctx, cfg, folder, eng, train.Options{ModelOnly: true, Restarts: 1})
	if err != nil {
		return err
	}
	defer session.Close()
	fmt.Println(session.Describe())
	if err := session.Train(ctx); err != nil {
		return err
	}
	results, err := session.Finish(ctx)
	if err != nil {
		return err
	}
	recall, _ := results.Model.RecallAt(1)
	fmt.Printf("Recall@1 %.1f%% on flowers that it has not seen\n", recall)
	return nil
}
