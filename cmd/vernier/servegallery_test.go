package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vernier-ml/vernier/client"
	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/serve/api"
)

// link is a connection to a server that can be cut.
type link struct {
	net.Listener
	to   string
	mu   sync.Mutex
	cut  bool
	open map[net.Conn]bool
}

// newLink passes connections on to an address.
func newLink(t *testing.T, to string) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{Listener: l, to: to, open: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close(); k.set(true) })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go k.pass(in)
		}
	}()
	return k
}

func (k *link) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", k.to)
	if err != nil {
		return
	}
	defer out.Close()
	k.mu.Lock()
	if k.cut {
		k.mu.Unlock()
		return
	}
	k.open[in], k.open[out] = true, true
	k.mu.Unlock()
	go func() { _, _ = io.Copy(out, in); out.Close() }()
	_, _ = io.Copy(in, out)
	k.mu.Lock()
	delete(k.open, in)
	delete(k.open, out)
	k.mu.Unlock()
}

// set cuts the link, or lets new connections through.
func (k *link) set(cut bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = cut
	for c := range k.open {
		if cut {
			c.Close()
		}
	}
}

// TestGalleryIsServedFromDatabases serves tables of the servers of .ci/with-postgres, and a
// collection of .ci/with-weaviate: two services of one gallery see each other's changes, and
// one whose server is away for a while goes on when it is back.
func TestGalleryIsServedFromDatabases(t *testing.T) {
	folder, images := trained(t)
	for _, c := range []struct {
		variable, required, target, parameter string
		servers                               int
	}{
		{"VERNIER_TEST_POSTGRES", "VERNIER_REQUIRE_POSTGRES", "test-postgres", "table", 1},
		{"VERNIER_TEST_POSTGRES", "VERNIER_REQUIRE_POSTGRES", "test-postgres", "table", 2},
		{"VERNIER_TEST_WEAVIATE", "VERNIER_REQUIRE_WEAVIATE", "test-weaviate", "collection", 1},
	} {
		t.Run(fmt.Sprintf("%s %d", c.target, c.servers), func(t *testing.T) {
			list := strings.Fields(os.Getenv(c.variable))
			if len(list) != 2 {
				if os.Getenv(c.required) != "" {
					t.Fatal("no servers")
				}
				t.Skip("not tested: there are no servers. make " + c.target + " starts two")
			}
			serveDatabases(t, folder, images, list[:c.servers], fmt.Sprintf("?%s=Served%d_%d", c.parameter, os.Getpid(), c.servers))
		})
	}
}

func serveDatabases(t *testing.T, folder, images string, servers []string, table string) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte(serveToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	push := []string{"gallery", "push", folder, "--split", "test"}
	serve := []string{folder, "--token-file", tokens}
	var linked []string
	var last *link
	for _, server := range servers {
		push, serve = append(push, "--to", server+table), append(serve, "--gallery", server+table)
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		last = newLink(t, u.Host)
		u.Host = last.Addr().String()
		linked = append(linked, "--gallery", u.String()+table)
	}
	if code, _, errs := vernier(t, push...); code != cli.ExitDone {
		t.Fatal(errs)
	}
	at, rows, end := serving(t, serve...)
	defer end()
	second, _, endSecond := serving(t, append([]string{folder, "--token-file", tokens}, linked...)...)
	defer endSecond()
	one, two := asking(t, at), asking(t, second)
	body, err := os.ReadFile(filepath.Join(images, "class 08", "3.png"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := one.SearchImage(t.Context(), body, client.Options{K: 12})
	if err != nil || rows != 48 || found.Rows != 48 || len(found.Results[0].Neighbors) != 12 {
		t.Fatalf("%d rows, found %+v: %v", rows, found, err)
	}
	near := found.Results[0].Neighbors[0]
	if !strings.HasSuffix(near.Path, "class 08/3.png") || near.Class != "class 08" || near.Distance > 1e-5 {
		t.Errorf("found %+v", near)
	}
	if r, err := http.Get(at + "v1/picture?" + url.Values{"key": {near.Key}}.Encode()); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("its picture: %v, %v", r, err)
	}
	info, err := one.Info(t.Context())
	if err != nil || !strings.HasSuffix(table, "="+info.Data) {
		t.Errorf("%+v: %v", info, err)
	}
	// The same image at another path is the same row, and the other service finds it there.
	done, err := one.PutImages(t.Context(), "new", client.Image{Path: "new/1.png", File: body})
	if err != nil || done.Replaced != 1 || done.Rows != 48 {
		t.Errorf("%+v: %v", done, err)
	}
	if found, err = two.Search(t.Context(), api.Search{Key: near.Key, K: 1}); err != nil || len(found.Results[0].Neighbors) != 1 {
		t.Errorf("%+v: %v", found, err)
	}
	if found, err = two.SearchImage(t.Context(), body, client.Options{K: 5, Class: "new"}); err != nil || len(found.Results[0].Neighbors) != 1 || found.Results[0].Neighbors[0].Path != "new/1.png" {
		t.Errorf("%+v: %v", found, err)
	}
	if done, err = two.Delete(t.Context(), api.Delete{Class: "new"}); err != nil || done.Deleted != 1 || done.Rows != 47 {
		t.Errorf("%+v: %v", done, err)
	}
	var failed *client.Error
	if _, err = one.Search(t.Context(), api.Search{Key: near.Key}); !errors.As(err, &failed) || failed.Status != http.StatusNotFound {
		t.Errorf("a row that the other service has deleted: %v", err)
	}
	// Nobody reaches the second service's database for a while.
	status := func() int {
		t.Helper()
		r, err := http.Post(second+"v1/search?k=1", "image/png", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil || strings.Contains(string(text), "127.0.0.1") {
			t.Errorf("it says where its database is: %s, %v", text, err)
		}
		if r.StatusCode == http.StatusServiceUnavailable && r.Header.Get("Retry-After") == "" {
			t.Error("503 without Retry-After")
		}
		return r.StatusCode
	}
	last.set(true)
	if got := status(); got != http.StatusServiceUnavailable {
		t.Errorf("while its database is away the service answers %d", got)
	}
	last.set(false)
	if got := status(); got != http.StatusOK {
		t.Errorf("when its database is back the service answers %d", got)
	}
	other := filepath.Join(t.TempDir(), "other")
	if code, _, errs := vernier(t, quick(images, other)...); code != cli.ExitDone {
		t.Fatal(errs)
	}
	args := append([]string{"serve", other, "--listen", "127.0.0.1:0"}, linked...)
	if code, _, errs := vernier(t, args...); code != cli.ExitFailed || !strings.Contains(errs, "another model") {
		t.Errorf("a gallery of another model: exit %d\n%s", code, errs)
	}
}
