package serve

import (
	"context"
	"sync"
	"time"

	"github.com/vernier-ml/vernier/gallery"
)

// rowCount is the number of rows of the gallery. A database counts them one by one, so a
// number is used for a while: for 50 times as long as counting takes, and at most a minute.
type rowCount struct {
	store gallery.Store

	mu       sync.Mutex
	rows     int
	at       time.Time // of the last count; zero before it
	took     time.Duration
	counting bool
}

const (
	countShare   = 50
	countAge     = time.Minute
	quickToCount = 10 * time.Millisecond
)

// get returns the number. While somebody counts, others use the number of before.
func (c *rowCount) get(ctx context.Context) (int, error) {
	c.mu.Lock()
	known := !c.at.IsZero()
	if known && (c.counting || time.Since(c.at) < min(countAge, countShare*c.took)) {
		defer c.mu.Unlock()
		return c.rows, nil
	}
	c.counting = true
	c.mu.Unlock()
	return c.count(ctx)
}

func (c *rowCount) count(ctx context.Context) (int, error) {
	begun := time.Now()
	stats, err := c.store.Stats(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counting = false
	if err != nil {
		return 0, err
	}
	c.rows, c.at, c.took = stats.Rows, time.Now(), time.Since(begun)
	return c.rows, nil
}

// changed is get after a change by a number of rows. Where counting takes long, the change is
// added to the number.
func (c *rowCount) changed(ctx context.Context, by int) (int, error) {
	c.mu.Lock()
	if slow := !c.at.IsZero() && c.took > quickToCount; slow {
		defer c.mu.Unlock()
		c.rows = max(0, c.rows+by)
		return c.rows, nil
	}
	c.mu.Unlock()
	return c.count(ctx)
}
