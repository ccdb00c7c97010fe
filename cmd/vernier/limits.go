package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/run"
)

// limit checks the text of a flag's value, which is of the flag's type already.
// Its error says what is wanted.
type limit func(text string) error

// limited is the value of a flag that has a limit.
type limited struct {
	pflag.Value
	check limit
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
		return usagef("%w%s", err, nearest.Hint("--"+unknown.GetSpecifiedName(), names))
	}
	bad := new(pflag.InvalidValueError)
	if !errors.As(err, &bad) {
		return &usageError{err}
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
	return usagef("--%s %s: %w", f.Name, value, cause)
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
func limitFlags(cmd *cobra.Command, all map[string]limit) {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Value.Type(), "float64") {
			f.Value = &limited{f.Value, number("a finite number", func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) })}
		}
		check, ok := all[path+" --"+f.Name]
		if !ok {
			check, ok = all["--"+f.Name]
		}
		if ok {
			f.Value = &limited{f.Value, check}
		}
	})
	for _, c := range cmd.Commands() {
		limitFlags(c, all)
	}
}

// whole wants a number from least to most.
func whole(least, most int64) limit {
	return func(text string) error {
		v, err := strconv.ParseInt(text, 0, 64)
		if err == nil && v >= least && v <= most {
			return nil
		}
		switch {
		case most < math.MaxInt64:
			return fmt.Errorf("want %d to %d", least, most)
		case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-"):
			return nil // another limit says what is too large
		}
		return fmt.Errorf("must be at least %d", least)
	}
}

// upTo wants at most what a setting of a run may be; run checks the rest of it.
func upTo(place string) limit {
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

// number wants numbers, separated by commas if there are several, of which ok is
// true.
func number(want string, ok func(float64) bool) limit {
	return func(text string) error {
		for _, part := range strings.Split(strings.Trim(text, "[]"), ",") {
			if v, err := strconv.ParseFloat(strings.TrimSpace(part), 64); err != nil || !ok(v) {
				return errors.New("want " + want)
			}
		}
		return nil
	}
}

// between0And1 wants neither of them.
func between0And1(text string) error {
	return number("a number between 0 and 1", func(v float64) bool { return v > 0 && v < 1 })(text)
}

func positive(text string) error {
	return number("a number above 0, up to 3.4e38", func(v float64) bool { return v > 0 && v <= math.MaxFloat32 })(text)
}

func notNegative(text string) error {
	return number("at least 0, up to 3.4e38", func(v float64) bool { return v >= 0 && v <= math.MaxFloat32 })(text)
}

// latestBestOrEpoch wants a checkpoint of a run.
func latestBestOrEpoch(text string) error {
	if n, err := strconv.Atoi(text); text == "latest" || text == run.FromBest || err == nil && n > 0 {
		return nil
	}
	return errors.New("want latest, best, or the number of a kept epoch, from 1 on" + nearest.Hint(text, []string{"latest", run.FromBest}))
}

// among wants one of a list.
func among(allowed ...string) limit {
	return func(text string) error {
		if slices.Contains(allowed, text) {
			return nil
		}
		return fmt.Errorf("there is %s", strings.Join(allowed, ", "))
	}
}

// eachAmong wants one or more of a list, none of them twice.
func eachAmong(allowed ...string) limit {
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

// parsed wants what a parser takes.
func parsed[T any](parse func(string) (T, error)) limit {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

// endingIn wants the name of a file that says what will be in it.
func endingIn(endings ...string) limit {
	return func(text string) error {
		if slices.Contains(endings, strings.ToLower(filepath.Ext(text))) {
			return nil
		}
		return fmt.Errorf("want a name that ends in %s", strings.Join(endings, " or "))
	}
}

// both wants what two limits do.
func both(first, second limit) limit {
	return func(text string) error {
		if err := first(text); err != nil {
			return err
		}
		return second(text)
	}
}

// inFolder wants the name of a file in a folder that is there: hours may pass before
// it is written.
func inFolder(text string) error {
	folder := filepath.Dir(text)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s", folder)
	}
	return nil
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
