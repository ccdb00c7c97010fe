package data

// Cached returns the bytes of decoded pictures that the loader keeps, and of all
// its pictures if they are as large as those on average: what it will keep in
// the end is that, up to LoaderOptions.CacheBytes.
func (l *Loader) Cached() (now, end int64) {
	if l.memo == nil {
		return 0, 0
	}
	count := int64(0)
	for i := range l.memo.images {
		if l.memo.get(i) != nil {
			count++
		}
	}
	if now = l.memo.used.Load(); count == 0 {
		return now, 0
	}
	return now, min(max(l.memo.limit, 0), now/count*int64(len(l.memo.images)))
}

// InFlight returns the most bytes of batches of n items that are prepared or in
// use at one time.
func (l *Loader) InFlight(n int) int64 {
	width, batches := 4, l.o.Prefetch+2
	if l.o.Pixels {
		width, batches = 1, batches+2 // one is sent ahead of its step, one may not be settled
	}
	return int64(width) * int64(batches) * int64(n) * int64(l.size())
}
