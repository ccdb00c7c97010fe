package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/run"
)

// corruptFlags say how images are damaged on purpose.
type corruptFlags struct{ both, train, test string }

func (f *corruptFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.both, "corrupt", "", "damage training and test images on purpose, as in impulse=0.1,occlusion=0.3,labels=0.2: shares of black or white pixels, of images with a part hidden, and of wrong labels (in training)")
	fl.StringVar(&f.train, "corrupt-train", "", "damage training images alone on purpose, written as for --corrupt")
	fl.StringVar(&f.test, "corrupt-test", "", "damage test images alone on purpose, written as for --corrupt")
}

func (f *corruptFlags) settings() (list []run.Setting, err error) {
	if f.both != "" && (f.train != "" || f.test != "") {
		return nil, cli.Usagef("--corrupt is for training and test images: give either it, or --corrupt-train and --corrupt-test")
	}
	trained, tested, source := f.train, f.test, ""
	if f.both != "" {
		c, err := data.ParseCorruption(f.both)
		if err != nil {
			return nil, fmt.Errorf("--corrupt: %w", err)
		}
		source, trained = "--corrupt", f.both
		c.Labels = 0 // those of test images are what is measured by
		tested = c.String()
	}
	for _, v := range []struct{ part, text string }{{"train", trained}, {"test", tested}} {
		if v.text == "" {
			continue
		}
		s := run.Setting{Path: "data.corrupt." + v.part, Value: v.text, Source: source}
		if source == "" {
			s.Source = "--corrupt-" + v.part
		}
		list = append(list, s)
	}
	return list, nil
}
