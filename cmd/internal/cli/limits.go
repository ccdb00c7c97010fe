package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cuda"
	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/linear"
	"github.com/vernier-ml/vernier/run"
)

// Limit checks the text of a flag's value, which is of the flag's type already. Its error
// says what the flag takes.
type Limit func(text string) error

// limited is the value of a flag that has a limit.
type limited struct {
	pflag.Value
	check Limit
}

func (v *limited) Set(text string) error {
	err := v.Value.Set(text)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return err
	}
	if wrong := v.check(text); wrong != nil { // which says by how much what is out of range is so
		return &refused{wrong}
	}
	return err
}

// refused marks the error of a limit, beside those of a type.
type refused struct{ error }

func (e *refused) Unwrap() error { return e.error }

// flagError names the flag and says what it takes, in place of what the parser of
// its type says to programmers.
func flagError(cmd *cobra.Command, err error) error {
	if unknown := new(pflag.NotExistError); errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return Usagef("%w%s", err, nearest.Hint("--"+unknown.GetSpecifiedName(), names))
	}
	bad := new(pflag.InvalidValueError)
	if !errors.As(err, &bad) {
		return &UsageError{err}
	}
	f, cause := bad.GetFlag(), bad.Unwrap()
	if !errors.As(cause, new(*refused)) {
		if _, err := run.ParseDuration(bad.GetValue()); err != nil && f.Value.Type() == "duration" {
			cause = err
		} else if errors.Is(cause, strconv.ErrRange) {
			cause = outOfRange(f.Value.Type())
		} else if want, ok := typeWords[f.Value.Type()]; ok {
			cause = errors.New("want " + want)
		}
	}
	value := bad.GetValue()
	const longest = 80
	if len(value) > longest {
		value = value[:longest] + "..."
	}
	if _, err := strconv.ParseFloat(value, 64); err != nil {
		value = strconv.Quote(value)
	}
	return Usagef("--%s %s: %w", f.Name, value, cause)
}

// outOfRange says what the largest number of a type is.
func outOfRange(kind string) error {
	switch kind {
	case "uint64":
		return fmt.Errorf("must be at most %d", uint64(math.MaxUint64))
	case "int", "int64":
		return fmt.Errorf("must be at most %d and at least %d", math.MaxInt64, math.MinInt64)
	}
	return errors.New("the number is too large")
}

// typeWords say what flags of a type take.
var typeWords = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0 on", "float64": "a number",
	"bool": "true or false", "duration": "a time with its unit, such as 10m or 1h30m",
	"intSlice": "whole numbers, separated by commas", "uintSlice": "whole numbers from 0 on, separated by commas",
	"float64Slice": "numbers, separated by commas",
}

// limitFlags gives the flags of a command and of those below it their limits,
// which make them refuse a value while the command line is read: before anything
// is opened, as wrong usage, with the flag's name. Every number is a finite one.
func limitFlags(cmd *cobra.Command, all map[string]Limit) {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Value.Type(), "float64") {
			f.Value = &limited{f.Value, Number("a finite number", func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) })}
		}
		check, ok := all[path+" --"+f.Name]
		if !ok {
			check, ok = all["--"+f.Name]
		}
		if ok {
			f.Value = &limited{f.Value, check}
		}
		if f.Value.Type() == "string" && (namesPlace("--"+f.Name) || namesPlace(path+" --"+f.Name)) {
			f.Value = &limited{f.Value, notEmpty}
		}
	})
	for _, c := range cmd.Commands() {
		limitFlags(c, all)
	}
}

// namesPlace reports whether a flag, as in "--gallery" or "index --from", names a file, a
// folder or a data set.
func namesPlace(flag string) bool {
	return slices.Contains([]string{
		"--cache", "--check", "--config", "--data", "--det", "--dir", "--gallery", "--markdown", "--marks", "--out", "--pairs", "--plot",
		"--resume", "--roc", "--super-classes", "--trace", "--weights", "--weights-dict", "data emoji --from", "index --from", "linear eval --train",
	}, flag)
}

// notEmpty refuses the name that a script gives whose variable is not set.
func notEmpty(text string) error {
	if text == "" {
		return errors.New("the name is empty: name a file, folder or data set, or leave the flag out")
	}
	return nil
}

// Whole wants a whole number from least to max.
func Whole(least, max int64) Limit {
	return func(text string) error {
		v, err := strconv.ParseInt(text, 0, 64)
		if err == nil && v >= least && v <= max {
			return nil
		}
		switch {
		case max < math.MaxInt64:
			return fmt.Errorf("want %d to %d", least, max)
		case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-"):
			return nil // another limit says what is too large
		}
		return fmt.Errorf("must be at least %d", least)
	}
}

// UpTo wants at most what a setting of a run may be; run checks the rest of it.
func UpTo(place string) Limit {
	bound, ok := run.UpperBound(place)
	if !ok {
		panic("no bound of " + place)
	}
	return func(text string) error {
		for _, part := range strings.Split(strings.Trim(text, "[]"), ",") {
			v, err := strconv.ParseInt(strings.TrimSpace(part), 0, 64)
			if errors.Is(err, strconv.ErrRange) || err == nil && v > bound {
				return fmt.Errorf("must be at most %d", bound)
			}
		}
		return nil
	}
}

// Number wants numbers, separated by commas if there are several, of which ok is
// true.
func Number(want string, ok func(float64) bool) Limit {
	return func(text string) error {
		for _, part := range strings.Split(strings.Trim(text, "[]"), ",") {
			if v, err := strconv.ParseFloat(strings.TrimSpace(part), 64); err != nil || !ok(v) {
				return errors.New("want " + want)
			}
		}
		return nil
	}
}

// Between0And1 wants a number between 0 and 1, and neither of them.
func Between0And1(text string) error {
	return Number("a number between 0 and 1", func(v float64) bool { return v > 0 && v < 1 })(text)
}

// Positive wants numbers above 0 that a float32 can hold.
func Positive(text string) error {
	return Number("a number above 0, up to 3.4e38", func(v float64) bool { return v > 0 && v <= math.MaxFloat32 })(text)
}

// NotNegative wants numbers of at least 0 that a float32 can hold.
func NotNegative(text string) error {
	return Number("at least 0, up to 3.4e38", func(v float64) bool { return v >= 0 && v <= math.MaxFloat32 })(text)
}

// Among wants one of a list.
func Among(allowed ...string) Limit {
	return func(text string) error {
		if slices.Contains(allowed, text) {
			return nil
		}
		return fmt.Errorf("there is %s", strings.Join(allowed, ", "))
	}
}

// EachAmong wants one or more of a list, none of them twice.
func EachAmong(allowed ...string) Limit {
	return func(text string) error {
		names, err := csv.NewReader(strings.NewReader(text)).Read()
		if err != nil {
			return fmt.Errorf("want at least one of %s", strings.Join(allowed, ", "))
		}
		for i, n := range names {
			if !slices.Contains(allowed, n) {
				return fmt.Errorf("%q is unknown; there is %s", n, strings.Join(allowed, ", "))
			}
			if slices.Contains(names[:i], n) {
				return fmt.Errorf("%s is given twice", n)
			}
		}
		return nil
	}
}

// Parsed wants what parse takes; the error is that of parse.
func Parsed[T any](parse func(string) (T, error)) Limit {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

// EndingIn wants the name of a file with one of the endings, such as ".png".
func EndingIn(endings ...string) Limit {
	return func(text string) error {
		if slices.Contains(endings, strings.ToLower(filepath.Ext(text))) {
			return nil
		}
		return fmt.Errorf("want a name that ends in %s", strings.Join(endings, " or "))
	}
}

// Both wants what two limits want; the error is that of the first that refuses.
func Both(first, second Limit) Limit {
	return func(text string) error {
		if err := first(text); err != nil {
			return err
		}
		return second(text)
	}
}

// InFolder wants the name of a file in a folder that is there: hours may pass before
// it is written.
func InFolder(text string) error {
	folder := filepath.Dir(text)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s", folder)
	}
	return nil
}

// FromZero wants a whole number of at least 0.
func FromZero(text string) error { return Whole(0, math.MaxInt64)(text) }

// PNGFile wants the name of a PNG file in a folder that is there.
func PNGFile(text string) error { return Both(EndingIn(".png"), InFolder)(text) }

// MaxWorkers is more than any machine gains from.
const MaxWorkers = 1024

// CommonLimits are the limits of the flags that this package adds to commands, and of
// flags that mean the same in every command that has them, by their names as in "--threads".
func CommonLimits() map[string]Limit {
	cores := Whole(0, MaxWorkers)
	return map[string]Limit{
		"--threads": cores, "--workers": cores, "--device": Parsed(parseDevice), "--precision": Parsed(cuda.ParsePrecision),
		"--header": Among("auto", "yes", "no"), "--decimal": Among("auto", "point", "comma"),
		"--missing":    Among(string(linear.Refuse), string(linear.ImputeMean), string(linear.ImputeMedian)),
		"--components": Whole(0, 1_000_000), "--trials": Whole(1, 100_000), "--restarts": Whole(1, run.MaxRestarts),
		"--level": Between0And1, "--markdown": InFolder, "--plot": PNGFile,
	}
}
