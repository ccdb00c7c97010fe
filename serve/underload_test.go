package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/serve/api"
)

// TestUnderLoad has 200 clients search, some by images and some by vectors, while three add
// and delete. Every answer is right, or 503 with Retry-After; what was acknowledged is
// found; the queue stays within its bound. VERNIER_LOAD is how long it takes, such as 1m.
func TestUnderLoad(t *testing.T) {
	lasting := 2 * time.Second
	if text := os.Getenv("VERNIER_LOAD"); text != "" {
		d, err := time.ParseDuration(text)
		fatal(t, err)
		lasting = d
	}
	const clients = 200
	const waiting = 64 // fewer than clients: some are refused
	var names, classes []string
	var values []float32
	for i := range 250 {
		names, classes, values = append(names, fmt.Sprint(i)), append(classes, "still"), append(values, float32(i))
	}
	s, _ := newServer(t, func(c *Config) {
		c.Gallery, c.Waiting = storeOf(t, names, classes, values...), waiting
	})
	at := "http://" + listening(t, s)
	transport := &http.Transport{MaxIdleConns: 2 * clients, MaxIdleConnsPerHost: 2 * clients}
	defer transport.CloseIdleConnections()
	h := &http.Client{Transport: transport}
	end := time.Now().Add(lasting)
	var mu sync.Mutex
	var times []time.Duration
	var refused, changes atomic.Int64
	// send sends a request until it is not refused, and reads the answer.
	send := func(method, path, kind string, body []byte, v any) bool {
		for {
			r, err := http.NewRequestWithContext(t.Context(), method, at+path, bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return false
			}
			r.Header.Set("Content-Type", kind)
			withToken(r)
			begun := time.Now()
			w, err := h.Do(r)
			if err != nil {
				t.Errorf("%s %s: %v", method, path, err)
				return false
			}
			text, err := io.ReadAll(w.Body)
			w.Body.Close()
			switch {
			case err != nil:
				t.Error(err)
				return false
			case w.StatusCode == http.StatusServiceUnavailable && w.Header.Get("Retry-After") != "":
				refused.Add(1)
				time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond) // sooner than asked, to press on
				if time.Now().After(end.Add(10 * time.Second)) {
					t.Errorf("%s %s is refused ten seconds after the others have ended", method, path)
					return false
				}
				continue
			case w.StatusCode != http.StatusOK:
				t.Errorf("%s %s: %d %s", method, path, w.StatusCode, text)
				return false
			}
			took := time.Since(begun)
			mu.Lock()
			times = append(times, took)
			mu.Unlock()
			if err := json.Unmarshal(text, v); err != nil {
				t.Error(err)
			}
			return true
		}
	}
	images := make([][]byte, 250)
	for v := range images {
		images[v] = pngOf(t, gray(uint8(v)))
	}
	var all sync.WaitGroup
	var peak atomic.Int64
	for i := range clients {
		all.Go(func() {
			for time.Now().Before(end) {
				var found api.Found
				v := rand.IntN(250)
				ok := false
				if i%2 == 0 {
					ok = send("POST", "/v1/search?k=1&class=still", "image/png", images[v], &found)
				} else {
					ok = send("POST", "/v1/search", "application/json", fmt.Appendf(nil, `{"vector": [%d], "k": 1, "class": "still"}`, v), &found)
				}
				if ok && (len(found.Results) != 1 || len(found.Results[0].Neighbors) != 1 || found.Results[0].Neighbors[0].Path != fmt.Sprint(v)) {
					t.Errorf("%d finds %+v", v, found)
				}
				peak.Store(max(peak.Load(), s.seats.taken.Load()))
			}
		})
	}
	for i := range 3 {
		all.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				path, class, value := fmt.Sprintf("moving/%d-%d", i, n), fmt.Sprintf("moving%d", i), 1000*(i+1)+n%900
				var done api.Changed
				if !send("PUT", "/v1/images", "application/json", fmt.Appendf(nil, `{"rows": [{"path": %q, "class": %q, "vector": [%d]}]}`, path, class, value), &done) {
					continue
				}
				var found api.Found
				if send("POST", "/v1/search", "application/json", fmt.Appendf(nil, `{"vector": [%d], "k": 1, "class": %q}`, value, class), &found) && found.Results[0].Neighbors[0].Path != path {
					t.Errorf("%s was acknowledged, and %+v is found", path, found.Results[0].Neighbors)
				}
				if send("DELETE", "/v1/images?path="+path, "", nil, &done) && done.Deleted != 1 {
					t.Errorf("%s: %+v", path, done)
				}
				changes.Add(2)
			}
		})
	}
	all.Wait()
	if len(times) == 0 || changes.Load() == 0 {
		t.Fatal("nothing was answered")
	}
	slices.Sort(times)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("%v with %d clients: %d answered, %d refused with 503, %d changes; p50 %v, p99 %v, longest %v; at most %d of %d queries waiting; %d MiB of the system's memory",
		lasting, clients, len(times), refused.Load(), changes.Load(), times[len(times)/2], times[len(times)*99/100], times[len(times)-1], peak.Load(), waiting, memory.Sys>>20)
	if peak.Load() > waiting {
		t.Errorf("%d queries waited, at most %d may", peak.Load(), waiting)
	}
	if rows := answered[api.Info](t, ask(s, "GET", "/v1/info", "", nil, nil)).Rows; rows != 250 {
		t.Errorf("%d rows at the end, want 250", rows)
	}
}
