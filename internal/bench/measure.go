package bench

import (
	"context"
	"slices"
	"time"
)

const (
	fewest = 3      // iterations of a measurement
	most   = 100000 // keeps the list of times small
	// short iterations are timed several at a time.
	short = 2 * time.Millisecond
)

// measure returns the seconds of each iteration until the given time is over.
func measure(ctx context.Context, span time.Duration, run func() error) ([]float64, error) {
	var times []float64
	group := 1
	for start := time.Now(); len(times) < fewest || time.Since(start) < span && len(times) < most; {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		from := time.Now()
		for range group {
			if err := run(); err != nil {
				return nil, err
			}
		}
		took := time.Since(from)
		if len(times) == 0 && took < short && group == 1 {
			group = int(short/max(took, time.Microsecond)) + 1
			continue
		}
		times = append(times, took.Seconds()/float64(group))
	}
	return times, nil
}

// figures of a list of times.
type figures struct{ median, spread, fastest float64 }

func summary(times []float64) figures {
	t := slices.Clone(times)
	slices.Sort(t)
	f := figures{median: quantile(t, .5), fastest: t[0]}
	f.spread = (quantile(t, .75) - quantile(t, .25)) / f.median
	return f
}

// quantile interpolates in a sorted list.
func quantile(t []float64, q float64) float64 {
	at := q * float64(len(t)-1)
	i := int(at)
	if i+1 >= len(t) {
		return t[len(t)-1]
	}
	return t[i] + (at-float64(i))*(t[i+1]-t[i])
}
