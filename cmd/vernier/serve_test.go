package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
)

func TestServeFindsAnImageOfTheRunAndEndsQuietly(t *testing.T) {
	folder, images := trained(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	in, out := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		got := execute(ctx, []string{"serve", folder, "--listen", "127.0.0.1:0", "--json", "-q"}, out, &errs)
		out.Close()
		code <- got
	}()
	line, err := bufio.NewReader(in).ReadBytes('\n')
	var at struct {
		URL  string
		Rows int
	}
	if err != nil || json.Unmarshal(line, &at) != nil || at.Rows != 48 {
		t.Fatalf("%s: %v\n%s", line, err, errs.String())
	}
	body, err := os.ReadFile(filepath.Join(images, "class 08", "3.png"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(at.URL+"search", "image/png", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var found struct {
		Neighbors []struct {
			Path     string
			Distance float64
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&found); err != nil || len(found.Neighbors) != 12 || found.Neighbors[0].Path != "class 08/3.png" || found.Neighbors[0].Distance > 1e-5 {
		t.Errorf("found %+v: %v", found, err)
	}
	cancel(&cli.SignalError{Signal: syscall.SIGINT}) // Ctrl-C
	if got := <-code; got != cli.ExitDone {
		t.Errorf("exit %d\n%s", got, errs.String())
	}
}

func TestServeRefusesBadFlags(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for args, says := range map[string]string{"--listen 8321": "ADDRESS:PORT", "-k 0": "want 1 to", "--max-mb 0": "1 to 1024"} {
		if code, _, errs := vernier(t, append([]string{"serve", missing}, strings.Fields(args)...)...); code != cli.ExitUsage || !strings.Contains(errs, says) {
			t.Errorf("%s: exit %d\n%s", args, code, errs)
		}
	}
	run, _ := trained(t)
	if code, _, errs := vernier(t, "serve", run, "--listen", "127.0.0.1:0", "--marks", filepath.Join(missing, "marks.jsonl")); code != cli.ExitUsage || !strings.Contains(errs, "--marks") {
		t.Errorf("--marks in no folder: exit %d\n%s", code, errs)
	}
}
