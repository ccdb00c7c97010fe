package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cuda"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/linear"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// mostWorkers is more than any machine gains from.
const mostWorkers = 1024

// flagLimits are what flags take, by their names, or by "COMMAND --NAME" where
// one name means several things. Settings of train that are not here are checked
// as a configuration, wherever they come from.
func flagLimits() map[string]limit {
	var tables []string
	for _, p := range paperTables() {
		tables = append(tables, p.name)
	}
	cores, picture := whole(0, mostWorkers), both(endingIn(".png"), inFolder)
	all := map[string]limit{
		// the machine
		"--threads": cores, "--workers": cores, "--jobs": whole(1, mostWorkers),
		"--max-bad": both(fromNone, upTo("data.max_bad")),
		"--device":  parsed(parseDevice), "--precision": parsed(cuda.ParsePrecision),
		"--memory-limit": parsed(parseBytes), "--dry-run": among(dryRunForms...),
		"--listen": addressAndPort, "--max-mb": whole(1, 1024),

		// benchmarks
		"--batch": both(fromNone, upTo("batch_size")), "--rounds": whole(1, 10_000), "--peer-pattern": parsed(regexp.Compile),
		"--seconds": number("a number above 0 and at most 3600", func(v float64) bool { return v > 0 && v <= 3600 }),

		// images
		"--train-classes": parsed(func(s string) (data.SplitSpec, error) { return data.ParseSplit(s, 0) }),
		"train --from":    latestBestOrEpoch,
		"--split":         among(run.Splits()...), "--epoch": among(epochs...),
		"--max-pixels": both(whole(1, math.MaxInt64), upTo("data.max_pixels")), "--shorter": both(whole(1, math.MaxInt64), upTo("data.shorter")),
		"--corrupt": parsed(data.ParseCorruption), "--corrupt-train": parsed(data.ParseCorruption), "--corrupt-test": parsed(data.ParseCorruption),

		// networks and metrics
		"--backbone": parsed(backbone.New), "--flow": parsed(backbone.ParseFlow), "--flow-batch": both(fromNone, upTo("batch_size")),
		"--size": fromNone, "--resize": fromNone, "--dim": fromNone, "--scale": positive,
		"--pool": among(model.Pools()...), "--head-norm": among(model.HeadNorms()...), "--normalization": among(model.Normalizations()...),
		"--metric": parsed(metric.Parse),

		// figures
		"eval --k": parsed(parseKs), "--ties": parsed(eval.ParseTieRule), "--centre": parsed(eval.ParseCentreRule), "--restarts": whole(1, run.MaxRestarts),
		"--level": between0And1, "--calibrate": parsed(eval.ParseRule), "--calibrate-on": halfSplitOrFile, "--calibrate-share": between0And1,
		"--max-pairs": whole(1, 100_000_000), "--curve": noneOrTwo,
		"--nearest": whole(1, mostNeighbors), "--hardest": whole(1, 10_000), "--drawn": whole(1, 10_000), "--neighbors": whole(1, 1000), "--points": whole(1, 100_000),

		// what is written
		"compare --format": among(tableFormats...), "sweep --format": among(tableFormats...),
		"embed --format": among(embedFormats()...), "export --format": eachAmong(exportFormats()...),
		"--onnx-preprocess": among(string(model.ONNXUint8), string(model.ONNXFloat)), "--expand": positive,
		"--plot": picture, "--roc": picture, "--det": picture, "reproduce brm-fig8 --out": picture, "report --out": both(endingIn(".html", ".htm"), inFolder),
		"embed --out": inFolder, "index --out": inFolder, "linear fit --out": both(endingIn(".json"), inFolder),
		"linear transform --out": both(endingIn(".csv"), inFolder), "--markdown": inFolder,
		"--marks": inFolder,

		// tables
		"--header": among("auto", "yes", "no"), "--decimal": among("auto", "point", "comma"), "--missing": among(string(linear.Refuse), string(linear.ImputeMean), string(linear.ImputeMedian)),
		"--components": whole(0, 1_000_000), "--trials": whole(1, 100_000), "reproduce brm-table2 --trials": whole(2, 100_000), "--k": whole(1, mostNeighbors),
		"linear eval --pairs": whole(1, 100_000_000), "reproduce brm-fig8 --pairs": whole(1, 100_000_000), "--train-share": between0And1,
		"--noise": among(string(linear.Gaussian), string(linear.Impulse)), "--noise-level": notNegative, "--penalty": notNegative,

		// experiments
		"--presets": among(drmlFamilies...), "--parts": eachAmong(drmlParts...), "--losses": eachAmong(drmlLosses...),
		"--variants": eachAmong(drmlVariants...), "--tables": eachAmong(tables...), "--rates": positive,
	}
	// Whole numbers that are settings have the bounds of run.
	for prefix, places := range map[string]map[string]string{"train ": trainPlaces, "": networkPlaces} {
		for name, place := range places {
			if _, ok := run.UpperBound(place); ok {
				all[prefix+"--"+name] = both(upTo(place), orNone(all["--"+name]))
			}
		}
	}
	return all
}

// orNone is a limit that may be missing.
func orNone(check limit) limit {
	if check == nil {
		return func(string) error { return nil }
	}
	return check
}

// fromNone wants 0 or more.
func fromNone(text string) error { return whole(0, math.MaxInt64)(text) }

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

// noneOrTwo wants as many points as make a curve, or 0 for none.
func noneOrTwo(text string) error {
	if n, err := strconv.ParseInt(text, 0, 64); err != nil || n < 0 || n == 1 || n > 1_000_000 {
		return errors.New("want 2 to 1000000 points, or 0 for none")
	}
	return nil
}
