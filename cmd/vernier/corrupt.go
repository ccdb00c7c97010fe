package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/train"
)

// corruptFlags say how images are damaged on purpose.
type corruptFlags struct{ both, train, test string }

func (f *corruptFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.both, "corrupt", "", "damage training and test images on purpose, as in impulse=0.1,occlusion=0.3,labels=0.2: shares of black or white pixels, of images with a part hidden, and of wrong labels (in training)")
	fl.StringVar(&f.train, "corrupt-train", "", "the same for training images only")
	fl.StringVar(&f.test, "corrupt-test", "", "the same for test images only")
}

func (f *corruptFlags) settings() (list []train.Setting, err error) {
	for _, v := range []struct {
		flag, text string
		parts      []string
	}{{"--corrupt", f.both, []string{"train", "test"}}, {"--corrupt-train", f.train, []string{"train"}}, {"--corrupt-test", f.test, []string{"test"}}} {
		if v.text == "" {
			continue
		}
		shares, err := keyValues(v.flag, strings.Split(v.text, ","))
		if err != nil {
			return nil, err
		}
		for _, kind := range slices.Sorted(maps.Keys(shares)) {
			for _, part := range v.parts {
				if kind == "labels" && part == "test" && v.flag == "--corrupt" {
					continue // those are what is measured by
				}
				list = append(list, train.Setting{Path: "data.corrupt." + part + "." + kind, Value: shares[kind], Source: v.flag})
			}
		}
	}
	return list, nil
}
