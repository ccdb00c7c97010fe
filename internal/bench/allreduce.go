package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vernier-ml/vernier/comm"
)

// allreduce times sums over ranks; the largest has the numbers of BN-Inception's gradient.
func allreduce() Benchmark {
	b := Benchmark{Name: "allreduce", Text: "sums over ranks, under mpirun or with goroutines"}
	for _, c := range []struct {
		name    string
		numbers int
	}{{"1", 1}, {"64Ki", 1 << 16}, {"1Mi", 1 << 20}, {"10.3M", 10_300_000}} {
		b.Cases = append(b.Cases, Case{Name: c.name, numbers: c.numbers})
	}
	return b
}

// ForRanks reports whether the benchmark is of a group of ranks, see Together, and not of an
// engine.
func (b Benchmark) ForRanks() bool { return b.Cases[0].numbers > 0 }

// Together measures a case of a benchmark for ranks. Every rank of the group calls it, and
// all get one result. An iteration begins when all ranks have come to it and takes as long as
// the slowest of them needs. ctx may end on any rank.
func (b Benchmark) Together(ctx context.Context, c comm.Comm, k Case, span time.Duration) (Result, error) {
	x := make([]float32, k.numbers)
	if err := checkSum(c, x); err != nil {
		return Result{}, fmt.Errorf("%s: %w", b.label(k), err)
	}
	clear(x) // sums of sums would end at infinity
	var times []float64
	group, spent := 1, 0.
	for len(times) < fewest || spent < span.Seconds() && len(times) < most {
		if err := comm.Stopped(ctx, c); err != nil { // waits for all as well
			return Result{}, err
		}
		start := time.Now()
		for range group {
			if err := c.Sum(x); err != nil {
				return Result{}, err
			}
		}
		all, err := comm.Concat(c, []float64{time.Since(start).Seconds()})
		if err != nil {
			return Result{}, err
		}
		took := slices.Max(all)
		if len(times) == 0 && group == 1 && took < short.Seconds() {
			group = int(short.Seconds()/max(took, 1e-6)) + 1
			continue
		}
		spent += took
		times = append(times, took/float64(group))
	}
	s := summary(times)
	return Result{
		Name: b.Name, Case: k.Name, Engine: c.Name(), Ranks: c.Size(), Samples: len(times),
		Seconds: s.median, Spread: s.spread, Fastest: s.fastest,
		BytesS: float64(4*k.numbers) / s.median, Peak: peakMemory() / (1 << 20),
	}, nil
}

// checkSum sums a number that tells the ranks apart, and compares with what it must be.
func checkSum(c comm.Comm, x []float32) error {
	for i := range x {
		x[i] = float32(1 + c.Rank())
	}
	if err := c.Sum(x); err != nil {
		return err
	}
	want := float32(c.Size() * (c.Size() + 1) / 2)
	if slices.Min(x) != want || slices.Max(x) != want {
		return errors.New("the sum over ranks is wrong")
	}
	return nil
}
