package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/galleries"
	"github.com/vernier-ml/vernier/cmd/internal/tabular"
	"github.com/vernier-ml/vernier/cmd/internal/tuning"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// flagLimits are what flags take, by their names, or by "COMMAND --NAME" where
// one name means several things. Settings of train that are not here are checked
// as a configuration, wherever they come from.
func flagLimits() map[string]cli.Limit {
	all := cli.CommonLimits()
	maps.Copy(all, map[string]cli.Limit{
		// the machine
		"--jobs": cli.Whole(1, cli.MaxWorkers), "--max-bad": cli.Both(cli.FromZero, cli.UpTo("data.max_bad")),
		"train --trace": cli.Whole(0, maxTraced), "--collectives": cli.Among(train.Collectives()...),
		"--memory-limit": cli.Parsed(parseBytes), "--dry-run": cli.Among(dryRunForms...),
		"--listen": addressAndPort, "--max-mb": cli.Whole(1, 1024), "--max-waiting": cli.Whole(1, 100_000), "serve --candidates": cli.Whole(0, 100_000),

		// benchmarks
		"--batch": cli.Both(cli.FromZero, cli.UpTo("batch_size")), "--rounds": cli.Whole(1, 10_000), "--ranks": cli.Whole(1, 64), "--peer-pattern": cli.Parsed(regexp.Compile),
		"--seconds": cli.Number("a number above 0 and at most 3600", func(v float64) bool { return v > 0 && v <= 3600 }),

		// images
		"--train-classes": cli.Parsed(func(s string) (data.SplitSpec, error) { return data.ParseSplit(s, 0) }),
		"train --from":    latestBestOrEpoch,
		"--split":         cli.Among(run.Splits()...), "--epoch": cli.Among(run.Choices()...),
		"--max-pixels": cli.Both(cli.Whole(1, math.MaxInt64), cli.UpTo("data.max_pixels")), "--shorter": cli.Both(cli.Whole(1, math.MaxInt64), cli.UpTo("data.shorter")),
		"--corrupt": cli.Parsed(data.ParseCorruption), "--corrupt-train": cli.Parsed(data.ParseCorruption), "--corrupt-test": cli.Parsed(data.ParseCorruption),

		// networks and metrics
		"--backbone": cli.Parsed(backbone.New), "--flow": cli.Parsed(backbone.ParseFlow), "--flow-batch": cli.Both(cli.FromZero, cli.UpTo("batch_size")),
		"--size": cli.FromZero, "--resize": cli.FromZero, "--crops": cli.Among("1", "5", "10"), "--dim": cli.FromZero, "--scale": cli.Positive,
		"train --scale": scaleOrScaling, "eval --scale": scaleOrScaling,
		"--dropout":   cli.Number("a number from 0 to less than 1", func(v float64) bool { return v >= 0 && v < 1 }),
		"--drop-path": cli.Number("a number from 0 to less than 1", func(v float64) bool { return v >= 0 && v < 1 }), "--input-norm": cli.Among(backbone.RowNorms()...),
		"--pool": cli.Among(model.Pools()...), "--head-norm": cli.Among(model.HeadNorms()...), "--normalization": cli.Among(model.Normalizations()...),
		"--metric": cli.Parsed(anyMetric), "--bank-share": cli.Between0And1, "--lora": cli.FromZero, "--lora-alpha": cli.Positive,
		"--ema": cli.Number("a number from 0 to less than 1", func(v float64) bool { return v >= 0 && v < 1 }),

		// figures
		"eval --k": cli.Parsed(parseKs), "--k": cli.Whole(1, maxNeighbors), "--ties": cli.Parsed(eval.ParseTieRule), "--center": cli.Parsed(eval.ParseCenterRule),
		"--calibrate": cli.Parsed(eval.ParseRule), "--calibrate-on": halfSplitOrFile, "--calibrate-share": cli.Between0And1,
		"--max-pairs": cli.Whole(1, 100_000_000), "--curve": noneOrTwo,
		"--nearest": cli.Whole(1, maxNeighbors), "--hardest": cli.Whole(1, 10_000), "--drawn": cli.Whole(1, 10_000), "--neighbors": cli.Whole(1, 1000), "--points": cli.Whole(1, 100_000),

		// what is written
		"compare --format": cli.Among(tableFormats...), "sweep --format": cli.Among(tableFormats...),
		"embed --format": cli.Among(embedFormats()...), "export --format": cli.EachAmong(exportFormats()...),
		"--onnx-preprocess": cli.Among(string(model.ONNXUint8), string(model.ONNXFloat)), "export --expand": cli.Positive,
		"--roc": cli.PNGFile, "--det": cli.PNGFile, "report --out": cli.Both(cli.EndingIn(".html", ".htm"), cli.InFolder),
		"embed --out": cli.InFolder, "index --out": cli.InFolder, "--marks": cli.InFolder,
	})
	maps.Copy(all, tabular.Limits())
	maps.Copy(all, galleries.Limits())
	for name, limit := range tuning.Limits() {
		all["tune "+name] = limit
	}
	// Whole numbers that are settings have the bounds of run.
	for prefix, places := range map[string]map[string]string{"train ": trainPlaces, "": networkPlaces} {
		for name, place := range places {
			if _, ok := run.UpperBound(place); ok {
				all[prefix+"--"+name] = cli.Both(cli.UpTo(place), orNone(all["--"+name]))
			}
		}
	}
	return all
}

// maxTraced bounds the memory that a trace takes: a step of a large network consists of
// about a thousand pieces of work.
const maxTraced = 1000

// orNone is a limit that may be missing.
func orNone(check cli.Limit) cli.Limit {
	if check == nil {
		return func(string) error { return nil }
	}
	return check
}

// scaleOrScaling wants what model.ParseScale reads.
func scaleOrScaling(text string) error {
	_, _, err := model.ParseScale(text)
	return err
}

// halfSplitOrFile wants what identities are taken from.
func halfSplitOrFile(text string) error {
	if text == calibrateOnHalf || slices.Contains(run.Splits(), text) {
		return nil
	}
	if _, err := os.Stat(text); err != nil {
		return fmt.Errorf("want %s, one of %s, or a file of pairs, which this is not", calibrateOnHalf, strings.Join(run.Splits(), ", "))
	}
	return nil
}

// noneOrTwo accepts 0, for no curve, or at least the two points of one.
func noneOrTwo(text string) error {
	if n, err := strconv.ParseInt(text, 0, 64); err != nil || n < 0 || n == 1 || n > 1_000_000 {
		return errors.New("want 2 to 1000000 points, or 0 for none")
	}
	return nil
}

// latestBestOrEpoch wants a checkpoint of a run.
func latestBestOrEpoch(text string) error {
	if n, err := strconv.Atoi(text); text == "latest" || text == run.FromBest || err == nil && n > 0 {
		return nil
	}
	return errors.New("want latest, best, or the number of a kept epoch, from 1 on" + nearest.Hint(text, []string{"latest", run.FromBest}))
}

// addressAndPort wants what a server can listen on.
func addressAndPort(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return errors.New("want ADDRESS:PORT with a port from 0 to 65535, such as 127.0.0.1:8321")
	}
	return nil
}

// anyMetric reads the name of a metric, that of models with levels too, which commands that
// compute with values of a metric refuse by themselves.
func anyMetric(text string) (m metric.Metric, err error) { return m, m.UnmarshalText([]byte(text)) }
