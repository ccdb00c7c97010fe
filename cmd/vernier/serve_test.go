package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/client"
	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data/features"
	"github.com/vernier-ml/vernier/serve/api"
)

// serving starts serve in this process and returns the address of its API, and what ends it:
// Ctrl-C, after which the exit status must be 0.
func serving(t *testing.T, args ...string) (at string, rows int, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	in, out := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		got := execute(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--json", "-q"}, args...), out, &errs)
		out.Close()
		code <- got
	}()
	line, err := bufio.NewReader(in).ReadBytes('\n')
	var told struct {
		URL  string
		Rows int
	}
	if err != nil || json.Unmarshal(line, &told) != nil {
		cancel(nil)
		<-code
		t.Fatalf("%s: %v\n%s", line, err, errs.String())
	}
	return told.URL, told.Rows, func() {
		t.Helper()
		cancel(&cli.SignalError{Signal: syscall.SIGINT})
		if got := <-code; got != cli.ExitDone {
			t.Errorf("exit %d\n%s", got, errs.String())
		}
	}
}

// asking is a client of a service.
func asking(t *testing.T, at string) *client.Client {
	t.Helper()
	c, err := client.New(at, client.WithToken(serveToken))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const serveToken = "0123456789abcdef"

func TestServeFindsAnImageOfTheRunAndEndsQuietly(t *testing.T) {
	folder, images := trained(t)
	body, err := os.ReadFile(filepath.Join(images, "class 08", "3.png"))
	if err != nil {
		t.Fatal(err)
	}
	var made time.Time
	for start := range 2 {
		at, rows, end := serving(t, folder)
		found, err := asking(t, at).SearchImage(t.Context(), body, client.Options{K: 12})
		if err != nil || rows != 48 || len(found.Results[0].Neighbors) != 12 {
			t.Fatalf("%d rows, found %+v: %v", rows, found, err)
		}
		near := found.Results[0].Neighbors[0]
		if !strings.HasSuffix(near.Path, "class 08/3.png") || near.Class != "class 08" || near.Distance > 1e-5 {
			t.Errorf("found %+v", near)
		}
		r, err := http.Get(at + "v1/picture?" + url.Values{"key": {near.Key}}.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if r.Body.Close(); r.StatusCode != http.StatusOK {
			t.Errorf("its picture: %d", r.StatusCode)
		}
		end()
		info, err := os.Stat(filepath.Join(folder, "gallery-test.index"))
		if err != nil {
			t.Fatal(err)
		}
		if start == 1 && !info.ModTime().Equal(made) {
			t.Error("the second start made the index anew")
		}
		made = info.ModTime()
	}
	_, rows, end := serving(t, folder, "--renew")
	end()
	if info, err := os.Stat(filepath.Join(folder, "gallery-test.index")); err != nil || rows != 48 || info.ModTime().Equal(made) {
		t.Errorf("--renew: %d rows, %v", rows, err)
	}
}

// What a request was told is kept is there after SIGKILL and a restart.
func TestServeKeepsWhatItAcknowledgedThroughAKill(t *testing.T) {
	folder, images := trained(t)
	index, tokens, keep := filepath.Join(t.TempDir(), "g.index"), filepath.Join(t.TempDir(), "tokens"), filepath.Join(t.TempDir(), "keep")
	if err := os.WriteFile(tokens, []byte("# mine\n"+serveToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", folder, "--gallery", index, "--token-file", tokens, "--keep", keep, "--listen", "127.0.0.1:0", "--json", "-q"}
	file := func(class, i int) []byte {
		body, err := os.ReadFile(filepath.Join(images, fmt.Sprintf("class %02d", class), fmt.Sprintf("%d.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	start := func() (*client.Client, func()) {
		cmd, said := binary(t, args...)
		cmd.Stdout = nil
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // of two that wait one would hang
		t.Cleanup(kill)
		line, err := bufio.NewReader(out).ReadBytes('\n')
		var told struct{ URL string }
		if err != nil || json.Unmarshal(line, &told) != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
		return asking(t, told.URL), kill
	}
	kept := map[string]bool{} // what was acknowledged: there, or not
	for round := range 3 {
		c, kill := start()
		info, err := c.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		there := 0
		for path, is := range kept {
			found, err := c.Search(t.Context(), api.Search{Path: path})
			if is != (err == nil) {
				t.Errorf("round %d: %s was there: %v; now %+v, %v", round, path, is, found, err)
			}
			if is {
				there++
			}
		}
		// Of what was in the air when the process was killed, one row may be there.
		if extra := info.Rows - 48 - there; extra < 0 || extra > 1 {
			t.Errorf("round %d: %d rows, acknowledged are %d", round, info.Rows, 48+there)
		}
		stop := time.AfterFunc(time.Duration(100+rand.IntN(400))*time.Millisecond, kill)
		for n := range 48 {
			path := fmt.Sprintf("put/%d", n)
			done, err := c.PutImages(t.Context(), "new", client.Image{Path: path, File: file(n%6, n/6)})
			if err != nil {
				break
			}
			kept[path] = true
			if n%3 == 2 {
				gone := fmt.Sprintf("put/%d", n-1)
				if _, err := c.Delete(t.Context(), api.Delete{Paths: []string{gone}}); err != nil {
					delete(kept, gone) // nobody knows
					break
				}
				kept[gone] = false
			}
			if done.Rows < 48 {
				t.Errorf("%+v", done)
			}
		}
		stop.Stop()
		kill()
		if round == 0 && len(kept) == 0 {
			t.Log("nothing was acknowledged before the first kill")
		}
	}
}

func TestServeRefusesBadFlags(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("# none\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, says := range map[string]string{
		"--listen 8321": "ADDRESS:PORT", "--max-waiting 0": "want 1 to", "--max-mb 0": "1 to 1024", "--tls-cert x": "give both or neither",
		"--renew --gallery x": "vernier index --force", "--token-file " + short: "holds no token", "--token-file " + missing: "--token-file",
	} {
		code, _, errs := vernier(t, append([]string{"serve", missing}, strings.Fields(args)...)...)
		if code == cli.ExitDone || !strings.Contains(errs, says) {
			t.Errorf("%s: exit %d\n%s", args, code, errs)
		}
	}
	run, _ := trained(t)
	if code, _, errs := vernier(t, "serve", run, "--listen", "127.0.0.1:0", "--marks", filepath.Join(missing, "marks.jsonl")); code != cli.ExitUsage || !strings.Contains(errs, "--marks") {
		t.Errorf("--marks in no folder: exit %d\n%s", code, errs)
	}
}

// A model of rows is searched with rows, and with a row of its gallery.
func TestServeFindsRowsOfFeatures(t *testing.T) {
	x, table := seenByCameras(t)
	folder := filepath.Join(t.TempDir(), "run")
	code, _, errs := vernier(t, "train", "--data", "features:"+x, "--labels", table, "--out", folder, "--dim", "2", "--epochs", "1", "--validation", "0.4",
		"--classes-per-batch", "3", "--images-per-class", "4")
	if code != cli.ExitDone {
		t.Fatal(errs)
	}
	at, _, end := serving(t, folder, "--split", "all")
	defer end()
	rows, err := features.Open(x)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	row := make([]float32, rows.Width())
	if err := rows.Read(row, 5); err != nil {
		t.Fatal(err)
	}
	c := asking(t, at)
	byRow, err := c.Search(t.Context(), api.Search{Features: [][]float32{row}})
	if err != nil {
		t.Fatal(err)
	}
	own := byRow.Results[0].Neighbors[0]
	byKey, err := c.Search(t.Context(), api.Search{Key: own.Key})
	if err != nil || own.Distance > 1e-5 || byKey.Results[0].Neighbors[0].Key != byRow.Results[0].Neighbors[1].Key {
		t.Errorf("the numbers of a row find %+v, the row finds %+v: %v", byRow.Results[0].Neighbors, byKey, err)
	}
}
