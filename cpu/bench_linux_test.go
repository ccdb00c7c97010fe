package cpu

import (
	"syscall"
	"testing"
	"time"
)

// processTime is the processor time that this process has used: on a machine
// with other work it says more than the clock.
func processTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// timed runs do, n multiplications and additions, and reports the rate by the
// clock and by the processor time of a core.
func timed(b *testing.B, n int, do func() error) {
	b.ReportAllocs()
	must(b, do())
	start := processTime()
	for b.Loop() {
		must(b, do())
	}
	used := processTime() - start
	work := 2 * float64(n) * float64(b.N) / 1e9
	b.ReportMetric(work/b.Elapsed().Seconds(), "GFLOPS")
	b.ReportMetric(work/used.Seconds(), "GFLOPS/core")
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-us/op")
}
