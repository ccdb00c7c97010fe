// Program train trains a small network to tell images apart, and measures it on classes
// that it has not seen.
//
//	train RUN [DATA]
//
// RUN is a new folder for the model and what it learned from. Stop the program with
// Ctrl-C, start it again, and it continues where it was. DATA says which images: a
// folder with one folder of images for each class, as folder:PATH, or anything else
// that data.Open takes; characters drawn in ten fonts (glyphs) if it is left out.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: train RUN [DATA]")
	}
	images := "glyphs"
	if len(os.Args) > 2 {
		images = os.Args[2]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := work(ctx, os.Args[1], images)
	if errors.Is(err, context.Canceled) {
		log.Fatal("stopped and saved: the same command continues")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context, folder, images string) error {
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		return err
	}
	defer eng.Close()

	// Half of the classes are trained on, the others are the test. A tenth of the
	// former decides which epoch is the best.
	cfg := run.Default(images)
	cfg.Data.Shorter = run.Shorter(cfg.Model.Input) // larger images are kept at this size
	cfg.Model.Dim = 32                              // numbers of an embedding
	cfg.ClassesPerBatch, cfg.ImagesPerClass = 8, 4
	cfg.Epochs = 1 // a good model takes 20 or more

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
	fmt.Printf("Recall@1 %.1f%%: so often is the nearest image of the same class\n", recall)
	return nil
}
