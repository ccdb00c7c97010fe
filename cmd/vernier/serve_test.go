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
	"github.com/vernier-ml/vernier/data/features"
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

// A model of rows is searched with a file of one row, and with a row of its gallery.
func TestServeFindsRowsOfFeatures(t *testing.T) {
	x, table := seenByCameras(t)
	folder := filepath.Join(t.TempDir(), "run")
	code, _, errs := vernier(t, "train", "--data", "features:"+x, "--labels", table, "--out", folder, "--dim", "2", "--epochs", "1", "--validation", "0.4",
		"--classes-per-batch", "3", "--images-per-class", "4")
	if code != cli.ExitDone {
		t.Fatal(errs)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	in, out := io.Pipe()
	var said bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		got := execute(ctx, []string{"serve", folder, "--split", "all", "--listen", "127.0.0.1:0", "--json", "-q"}, out, &said)
		out.Close()
		ended <- got
	}()
	line, err := bufio.NewReader(in).ReadBytes('\n')
	var at struct{ URL string }
	if err != nil || json.Unmarshal(line, &at) != nil {
		t.Fatalf("%s: %v\n%s", line, err, said.String())
	}
	rows, err := features.Open(x)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	row := make([]float32, rows.Width())
	if err := rows.Read(row, 5); err != nil {
		t.Fatal(err)
	}
	vector, err := json.Marshal(map[string]any{"vector": row})
	if err != nil {
		t.Fatal(err)
	}
	search := func(body []byte) (found struct {
		Neighbors []struct {
			Row      int
			Distance float64
		}
	}) {
		r, err := http.Post(at.URL+"search", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(&found); err != nil || len(found.Neighbors) != 12 {
			t.Fatalf("%s: %d, %+v: %v", body, r.StatusCode, found, err)
		}
		return found
	}
	byVector, byRow := search(vector), search([]byte(`{"row": 5}`))
	if n := byVector.Neighbors; n[0].Row != 5 || n[0].Distance > 1e-5 || n[1].Row != byRow.Neighbors[0].Row || byRow.Neighbors[0].Row == 5 {
		t.Errorf("the numbers of row 5 find %+v, row 5 finds %+v", n, byRow.Neighbors)
	}
	cancel(&cli.SignalError{Signal: syscall.SIGINT})
	if got := <-ended; got != cli.ExitDone {
		t.Errorf("exit %d\n%s", got, said.String())
	}
}
