package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listening serves on a port until the test ends.
func listening(t *testing.T, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, nil) }()
	t.Cleanup(func() { cancel(); <-ended })
	return l.Addr().String()
}

func TestUploadsThatWaitKeepNobodyFromSearching(t *testing.T) {
	s, _ := newServer(t, nil)
	at := listening(t, s)
	for range 3 * maxWaitingBodies {
		c, err := net.Dial("tcp", at)
		fatal(t, err)
		defer c.Close()
		_, err = fmt.Fprintf(c, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 20000000\r\n\r\n\x89PN")
		fatal(t, err)
	}
	r, err := http.Post("http://"+at+"/v1/search", "image/png", bytes.NewReader(pngOf(t, gray(1))))
	fatal(t, err)
	defer r.Body.Close()
	if text, err := io.ReadAll(r.Body); r.StatusCode != http.StatusOK || err != nil {
		t.Errorf("%d %s: %v", r.StatusCode, text, err)
	}
}

func TestTheBytesOfWaitingBodiesAreBounded(t *testing.T) {
	u := newUploads(1000)
	hold := func(body io.Reader) (func(), error) {
		r, err := http.NewRequest("POST", "/", body)
		fatal(t, err)
		_, release, err := u.receive(nil, r)
		return release, err
	}
	for range maxWaitingBodies {
		if _, err := hold(strings.NewReader(strings.Repeat("x", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	release, err := hold(strings.NewReader("x"))
	if f := (failure{}); !errors.As(err, &f) || f.status != http.StatusServiceUnavailable {
		t.Errorf("one byte too many: %v", err)
	}
	release()
	u.room.Release(1000)
	if _, err := hold(strings.NewReader("x")); err != nil {
		t.Errorf("after one was done: %v", err)
	}
}

func TestAnUploadThatStallsIsGivenUp(t *testing.T) {
	s, _ := newServer(t, nil)
	s.uploads.stall = time.Millisecond
	c, err := net.Dial("tcp", listening(t, s))
	fatal(t, err)
	defer c.Close()
	_, err = fmt.Fprintf(c, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 2000\r\n\r\n\x89PN")
	fatal(t, err)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	fatal(t, err)
	text, err := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(text), "the body came too slowly") || err != nil {
		t.Errorf("%d %s: %v", r.StatusCode, text, err)
	}
}

func TestPicturesAreMadeOneAtATimeAndOnce(t *testing.T) {
	var now, peak, made atomic.Int32
	p := newPictures(1<<20, func(_ context.Context, key string) ([]byte, error) {
		peak.Store(max(peak.Load(), now.Add(1)))
		defer now.Add(-1)
		made.Add(1)
		return []byte(key), nil
	})
	done := make(chan error)
	for i := range 24 {
		go func() {
			key := fmt.Sprint(i % 3)
			b, err := p.get(t.Context(), key)
			if err == nil && string(b) != key {
				err = fmt.Errorf("row %s is %s", key, b)
			}
			done <- err
		}()
	}
	for range 24 {
		fatal(t, <-done)
	}
	if peak.Load() != 1 || made.Load() != 3 {
		t.Errorf("%d at once, %d made", peak.Load(), made.Load())
	}
	p.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.get(ctx, "9"); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that is gone: %v", err)
	}
}

func TestThePicturesKeptAreBounded(t *testing.T) {
	p := newPictures(25, func(context.Context, string) ([]byte, error) { return make([]byte, 10), nil })
	for row := range 4 {
		_, err := p.get(t.Context(), fmt.Sprint(row))
		fatal(t, err)
	}
	if _, old := p.find("1"); old || p.bytes != 20 || len(p.kept) != 2 {
		t.Errorf("%d bytes of %d pictures", p.bytes, len(p.kept))
	}
}

// A request that is gone neither searches nor is answered.
func TestARequestThatIsGoneIsDropped(t *testing.T) {
	s, _ := newServer(t, func(c *Config) {
		c.Picture = func(ctx context.Context, _ string) (image.Image, error) { return nil, ctx.Err() }
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := func(r *http.Request) { *r = *r.WithContext(ctx) }
	for _, w := range []int{
		ask(s, "POST", "/v1/search", "image/png", pngOf(t, gray(1)), gone).Body.Len(),
		ask(s, "GET", "/v1/picture?key=path:1.png", "", nil, gone).Body.Len(),
	} {
		if w != 0 {
			t.Errorf("answered with %d bytes", w)
		}
	}
}
