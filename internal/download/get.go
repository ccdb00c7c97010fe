package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vernier-ml/vernier/internal/disk"
)

// File is a file with a public address.
type File struct {
	Name string // as it is stored
	URL  string
	Sum  Checksum
}

// Options say how Get fetches. The zero value is fine.
type Options struct {
	Client *http.Client
	// Tries is how often in a row a transfer may break off without a byte; 0
	// means 5. Pause is the time before the second try, doubled for every other;
	// 0 means a second.
	Tries    int
	Pause    time.Duration
	Progress func(file string, done, total int64) // total is 0 if it is not known
	// Silence is how long no byte may come before a connection is given up; 0
	// means 90 seconds.
	Silence time.Duration
}

// Reasons why a file is not fetched; errors.Is finds them.
var (
	ErrWrongChecksum = errors.New("wrong checksum")
	ErrInTheWay      = errors.New("another file has its name")
)

// Get fetches a file into a folder and verifies its checksum. A transfer that was
// broken off continues where it stopped, in this call or in a later one. A file that
// is there already is verified and kept; nothing is ever overwritten.
func Get(ctx context.Context, f File, dir string, o Options) error {
	if o.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = time.Minute
		o.Client = &http.Client{Transport: transport}
	}
	if o.Tries == 0 {
		o.Tries = 5
	}
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	if o.Silence == 0 {
		o.Silence = 90 * time.Second
	}
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := get(ctx, f, dir, o); err != nil {
		return fmt.Errorf("%s: %w", f.URL, err)
	}
	return nil
}

// get is Get with options that are complete.
func get(ctx context.Context, f File, dir string, o Options) error {
	final := filepath.Join(dir, f.Name)
	switch err := f.Sum.Verify(final); {
	case err == nil:
		return nil
	case errors.Is(err, ErrWrongChecksum):
		return fmt.Errorf("%s: %w: %w; it is not touched", final, ErrInTheWay, err)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	part, err := os.OpenFile(final+".part", os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer part.Close()
	if err := unix.Flock(int(part.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("%s: another process is fetching it: %w", part.Name(), err)
	}
	resumed, err := transfer(ctx, f, part, o)
	if err != nil {
		return err
	}
	err = settleFile(f, part, final)
	if errors.Is(err, ErrWrongChecksum) && resumed {
		// The beginning may be of another version or damaged: once more from there.
		if err = part.Truncate(0); err != nil {
			return err
		}
		if _, err = transfer(ctx, f, part, o); err != nil {
			return err
		}
		err = settleFile(f, part, final)
	}
	if errors.Is(err, ErrWrongChecksum) {
		os.Remove(part.Name())
	}
	return err
}

// settleFile verifies a complete file and gives it its name.
func settleFile(f File, part *os.File, final string) error {
	if err := part.Sync(); err != nil {
		return DiskError(err, part.Name())
	}
	if err := f.Sum.Verify(part.Name()); err != nil {
		return err
	}
	// A link fails if the name was taken meanwhile, a renaming would not.
	if err := os.Link(part.Name(), final); err == nil {
		return os.Remove(part.Name())
	} else if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", final, ErrInTheWay)
	}
	return os.Rename(part.Name(), final) // a file system without links
}

// transfer fills part up. It reports whether part held something before.
func transfer(ctx context.Context, f File, part *os.File, o Options) (resumed bool, err error) {
	at, err := part.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	resumed = at > 0
	pause := o.Pause
	for try := 1; ; try++ {
		before := at
		var again bool
		at, again, err = attempt(ctx, f, part, at, o)
		if err == nil || !again {
			return resumed, err
		}
		if at > before {
			try, pause = 1, o.Pause
		}
		if try >= o.Tries && at == 0 {
			os.Remove(part.Name())
			return resumed, fmt.Errorf("after %d tries: %w", try, err)
		}
		if try >= o.Tries {
			return resumed, fmt.Errorf("after %d tries: %w; what came so far is kept in %s, the same command continues with it", try, err, part.Name())
		}
		select {
		case <-ctx.Done():
			return resumed, context.Cause(ctx)
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// attempt makes one request for what follows byte at. It returns how much part
// holds then, and whether another try makes sense.
func attempt(ctx context.Context, f File, part *os.File, at int64, o Options) (now int64, again bool, err error) {
	caller := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(o.Silence, func() { cancel(fmt.Errorf("nothing came for %s", o.Silence)) })
	defer watch.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return at, false, err
	}
	request.Header.Set("Accept-Encoding", "identity") // a .gz is to stay one
	if at > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", at))
	}
	response, err := o.Client.Do(request)
	if err != nil {
		return at, caller.Err() == nil, causeOf(ctx, err)
	}
	defer response.Body.Close()
	total := int64(0)
	switch code := response.StatusCode; {
	case code == http.StatusPartialContent:
		var from int64
		if n, _ := fmt.Sscanf(response.Header.Get("Content-Range"), "bytes %d-", &from); n != 1 || from != at {
			return at, false, fmt.Errorf("the server sends %q where byte %d was asked for", response.Header.Get("Content-Range"), at)
		}
	case code == http.StatusOK:
		at = 0 // all of it, whatever was asked for
	case code == http.StatusRequestedRangeNotSatisfiable && at > 0:
		if n, _ := fmt.Sscanf(response.Header.Get("Content-Range"), "bytes */%d", &total); n == 1 && total == at {
			return at, false, nil // it was complete
		}
		if err := cut(part, 0); err != nil {
			return at, false, err
		}
		return 0, true, errors.New("more was kept than the server has")
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		return at, true, fmt.Errorf("the server says %s", response.Status)
	default:
		return at, false, fmt.Errorf("the server says %s", response.Status)
	}
	if response.ContentLength > 0 {
		total = at + response.ContentLength
		if err := roomOnDisk(filepath.Dir(part.Name()), response.ContentLength); err != nil {
			return at, false, err
		}
	}
	if err := cut(part, at); err != nil {
		return at, false, err
	}
	buffer := make([]byte, 1<<18)
	for {
		n, err := response.Body.Read(buffer)
		watch.Reset(o.Silence)
		if n > 0 {
			if _, err := part.WriteAt(buffer[:n], at); err != nil {
				return at, false, DiskError(err, part.Name())
			}
			at += int64(n)
			o.Progress(f.Name, at, total)
		}
		switch {
		case errors.Is(err, io.EOF) && total > 0 && at < total:
			return at, true, fmt.Errorf("%d of %d bytes came: %w", at, total, io.ErrUnexpectedEOF)
		case errors.Is(err, io.EOF):
			return at, false, nil
		case err != nil:
			return at, caller.Err() == nil, causeOf(ctx, err)
		}
	}
}

// cut shortens what is kept to n bytes.
func cut(part *os.File, n int64) error {
	info, err := part.Stat()
	if err == nil && info.Size() != n {
		err = part.Truncate(n)
	}
	return err
}

// causeOf replaces a cancellation by its reason.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// DiskError says what to do when the disk of a file that is written bit by bit is full.
func DiskError(err error, name string) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: the disk is full; what came so far is kept in %s, make room and give the same command again", disk.ErrNoRoom, name)
	}
	return err
}

// roomOnDisk says whether need bytes more fit.
func roomOnDisk(dir string, need int64) error {
	free, err := disk.Free(dir)
	if err != nil {
		return err
	}
	if need > free {
		return fmt.Errorf("%w: %s are still to come, %s has %s left", disk.ErrNoRoom, disk.Size(need), dir, disk.Size(free))
	}
	return nil
}
