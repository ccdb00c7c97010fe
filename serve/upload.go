package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/semaphore"
)

// uploads bounds what is held of bodies: of those that come, and of those that
// wait for their turn. A body takes its room as it comes, so that a request
// that only announces one takes nothing from others.
type uploads struct {
	max   int64 // of one body
	room  *semaphore.Weighted
	stall time.Duration // after which a body that stops is given up
}

// maxWaitingBytes bounds all bodies at one time, unless one alone may have more, or
// maxWaitingBodies of the largest have less.
const (
	maxWaitingBytes  = 256 << 20
	maxWaitingBodies = 8
)

func newUploads(max int64) *uploads {
	total := int64(maxWaitingBytes)
	if max < total/maxWaitingBodies {
		total = maxWaitingBodies * max
	}
	if max > total {
		total = max
	}
	return &uploads{max, semaphore.NewWeighted(total), stallTimeout}
}

// receive reads a body. release gives its room back; call it whatever the error
// is. After an error the deadline stays, so that the server does not wait
// for the rest.
func (u *uploads) receive(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	held := int64(0)
	release = func() { u.room.Release(held) }
	tooLarge := failure{http.StatusRequestEntityTooLarge, fmt.Errorf("the body has more than %d bytes", u.max)}
	if r.ContentLength > u.max {
		return nil, release, tooLarge
	}
	// The deadlines of a test's recorder are not supported, and not needed.
	deadline := http.NewResponseController(w)
	last := time.Now().Add(readTimeout)
	from := http.MaxBytesReader(w, r.Body, u.max)
	var all bytes.Buffer
	part := make([]byte, 16<<10)
	for {
		next := time.Now().Add(u.stall)
		if last.Before(next) {
			next = last
		}
		_ = deadline.SetReadDeadline(next)
		n, err := from.Read(part)
		if !u.room.TryAcquire(int64(n)) {
			return nil, release, busy(errors.New("the bodies of other requests fill the memory for them, try again"))
		}
		held += int64(n)
		all.Write(part[:n])
		switch large := new(http.MaxBytesError); {
		case errors.Is(err, io.EOF):
			// Whether the client is still there is watched while it is worked for.
			_ = deadline.SetReadDeadline(time.Time{})
			return all.Bytes(), release, nil
		case errors.As(err, &large):
			return nil, release, tooLarge
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, release, failure{http.StatusRequestTimeout, fmt.Errorf("the body came too slowly: %d bytes, then nothing for %v, or not all within %v", held, u.stall, readTimeout)}
		case err != nil:
			return nil, release, failure{http.StatusBadRequest, fmt.Errorf("reading the body: %w", err)}
		}
	}
}
