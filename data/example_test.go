package data_test

import (
	"context"
	"fmt"
	"log"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
)

func ExampleSplit() {
	set, err := data.Open(context.Background(), "glyphs", data.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	train, test, err := data.Split(set, data.FirstHalf())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(train.Classes), "classes from", train.Classes[0], "to", train.Classes[len(train.Classes)-1])
	fmt.Println(len(test.Classes), "classes from", test.Classes[0], "to", test.Classes[len(test.Classes)-1])
	// Output:
	// 333 classes from U+0021 ! to U+01DC ǜ
	// 333 classes from U+01FA Ǻ to U+FFFD �
}

func ExampleLoader_Epoch() {
	ctx := context.Background()
	set, err := data.Open(ctx, "glyphs", data.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	recipe, err := transform.Preset("characters")
	if err != nil {
		log.Fatal(err)
	}
	pipeline, err := recipe.Train(transform.Symmetric())
	if err != nil {
		log.Fatal(err)
	}
	loader, err := data.NewLoader(set, pipeline, data.LoaderOptions{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	sampler, err := data.NewBalanced(set, 32, 4, 1)
	if err != nil {
		log.Fatal(err)
	}
	for batch, err := range loader.Epoch(ctx, sampler, 0, 50) { // continue at batch 50
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Shape, batch.Next)
		batch.Recycle()
	}
	// Output:
	// [128 3 32 32] {0 51}
	// [128 3 32 32] {1 0}
}
