package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/client"
	"github.com/vernier-ml/vernier/serve/api"
)

// echo is a service that answers with what it was asked.
func echo(t *testing.T, told chan<- string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := fmt.Sprint(r.Method, " ", r.URL)
		if kind := r.Header.Get("Content-Type"); strings.HasPrefix(kind, "multipart/") {
			form, err := r.MultipartReader()
			for err == nil {
				part, end := form.NextPart()
				if err = end; err == nil {
					content, _ := io.ReadAll(part)
					text += fmt.Sprintf(" %s=%s", part.Header.Get("Content-Disposition"), content)
				}
			}
		} else {
			body, _ := io.ReadAll(r.Body)
			text += fmt.Sprintf(" %s %s", kind, body)
		}
		told <- text + " " + r.Header.Get("Authorization")
		api.Reply(w, map[string]any{})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestRequests(t *testing.T) {
	told := make(chan string, 1)
	c, err := client.New(echo(t, told)+"/below/", client.WithToken("secret"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, r := range []struct {
		send func() error
		want []string
	}{
		{func() error { _, err := c.Info(ctx); return err }, []string{"GET /below/v1/info  "}},
		{func() error { _, err := c.Search(ctx, api.Search{Vector: []float32{1, 2.5}, K: 3}); return err }, []string{`POST /below/v1/search application/json {"vector":[1,2.5],"k":3} `}},
		{func() error { _, err := c.SearchImage(ctx, []byte("pixels"), client.Options{}); return err }, []string{"POST /below/v1/search application/octet-stream pixels "}},
		{func() error {
			_, err := c.SearchImage(ctx, []byte("pixels"), client.Options{K: 3, Offset: 6, Class: "a&b"})
			return err
		}, []string{"POST /below/v1/search?class=a%26b&k=3&offset=6 application/octet-stream pixels "}},
		{func() error {
			_, err := c.SearchImages(ctx, [][]byte{[]byte("one"), []byte("two")}, client.Options{K: 3})
			return err
		}, []string{"POST /below/v1/search", `name="k"=3`, `name="image"; filename="0"=one`, `name="image"; filename="1"=two`}},
		{func() error {
			_, err := c.PutImages(ctx, "robin", client.Image{Path: `x/"1".png`, File: []byte("one")})
			return err
		}, []string{"PUT /below/v1/images", `name="class"=robin`, `filename="x/\"1\".png"=one`, " Bearer secret"}},
		{func() error { _, err := c.Put(ctx, api.Row{Path: "p", Vector: []float32{1}}); return err }, []string{`PUT /below/v1/images application/json {"rows":[{"path":"p","vector":[1]}]} Bearer secret`}},
		{func() error { _, err := c.Delete(ctx, api.Delete{Class: "robin"}); return err }, []string{`DELETE /below/v1/images application/json {"class":"robin"} Bearer secret`}},
	} {
		if err := r.send(); err != nil {
			t.Error(err)
			continue
		}
		got := <-told
		for _, want := range r.want {
			if !strings.Contains(got, want) {
				t.Errorf("sent %q, want %q in it", got, want)
			}
		}
	}
}

// A busy service is asked again after the time that it names; other errors are returned.
func TestABusyServiceIsAskedAgain(t *testing.T) {
	var asked atomic.Int32
	busy := int32(2)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > busy {
			api.Reply(w, api.Info{Rows: 7})
			return
		}
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"error": "64 queries are waiting already, try again"}`)
	}))
	defer s.Close()
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := c.Info(t.Context()); err != nil || info.Rows != 7 || asked.Load() != 3 {
		t.Errorf("%+v after %d requests: %v", info, asked.Load(), err)
	}
	asked.Store(0)
	c, err = client.New(s.URL, client.WithTries(2))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Info(t.Context())
	if of := (*client.Error)(nil); !errors.As(err, &of) || of.Status != 503 || of.Message != "64 queries are waiting already, try again" || asked.Load() != 2 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}

// Waiting ends with the context.
func TestWaitingEnds(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer s.Close()
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Info(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, address := range []string{"", "localhost:8321", "ftp://localhost", "http://", "http://a?b=c", "http://a:b:c"} {
		if _, err := client.New(address); err == nil {
			t.Errorf("%q was accepted", address)
		}
	}
}

// A program that asks a service links neither networks nor the graph.
func TestTheClientLinksNoNetworks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if module, _, _ := strings.Cut(dep, "/"); strings.Contains(module, ".") && dep != "github.com/vernier-ml/vernier/client" && dep != "github.com/vernier-ml/vernier/serve/api" {
			t.Errorf("package client depends on %s", dep)
		}
	}
}
