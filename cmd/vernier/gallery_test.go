package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/gallery"
)

// TestGallery pushes, searches, removes and checks in a file, and with the servers of
// .ci/with-postgres in a table and over the tables of two.
func TestGallery(t *testing.T) {
	folder, images := trained(t)
	places := map[string][]string{"file": {filepath.Join(t.TempDir(), "g.index")}}
	places["two files"] = []string{filepath.Join(t.TempDir(), "a.index"), filepath.Join(t.TempDir(), "b.index")}
	servers := strings.Fields(os.Getenv("VERNIER_TEST_POSTGRES"))
	if len(servers) == 2 {
		table := fmt.Sprintf("?table=command%d", os.Getpid())
		places["postgres"] = []string{servers[0] + table}
		places["two servers"] = []string{servers[0] + table + "two", servers[1] + table + "two"}
	} else if os.Getenv("VERNIER_REQUIRE_POSTGRES") != "" {
		t.Fatal("no servers")
	} else {
		t.Log("in PostgreSQL not tested: make test-postgres starts servers")
	}
	if nodes := strings.Fields(os.Getenv("VERNIER_TEST_WEAVIATE")); len(nodes) > 0 {
		places["weaviate"] = []string{fmt.Sprintf("%s?collection=Command%d", nodes[0], os.Getpid())}
	} else if os.Getenv("VERNIER_REQUIRE_WEAVIATE") != "" {
		t.Fatal("no Weaviate")
	} else {
		t.Log("in Weaviate not tested: make test-weaviate starts it")
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) { galleryCommands(t, folder, images, place) })
	}
}

func galleryCommands(t *testing.T, folder, images string, place []string) {
	in := func(flag string) (args []string) {
		for _, p := range place {
			args = append(args, flag, p)
		}
		return args
	}
	say := func(want int, says string, args ...string) string {
		t.Helper()
		code, out, errs := vernier(t, append([]string{"gallery"}, args...)...)
		if code != want || !strings.Contains(out+errs, says) {
			t.Fatalf("%v: exit %d, want %d with %q\n%s%s", args, code, want, says, out, errs)
		}
		return out
	}
	own := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(own, os.DirFS(filepath.Join(images, "class 06"))); err != nil {
		t.Fatal(err)
	}
	push := append([]string{"push", folder}, in("--to")...)
	say(cli.ExitDone, "added 48 rows; it has 48 rows of 8 numbers, compared by brm", append(push, "--split", "test")...)
	say(cli.ExitDone, "added 0 rows, left out 48 that it has already; it has 48", append(push, "--split", "test")...)
	// Copies are the same images at other places, and keep their classes.
	say(cli.ExitDone, "added 0 rows, replaced 8; it has 48", append(push, own)...)
	query := filepath.Join(own, "3.png")
	var list []struct {
		Query     string
		Neighbors []gallery.Match
	}
	find := func(args ...string) []gallery.Match {
		t.Helper()
		out := say(cli.ExitDone, "", append(append([]string{"search", folder, "--json", "--query", query}, in("--in")...), args...)...)
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		return list[0].Neighbors
	}
	if near := find("-k", "3"); len(near) != 3 || near[0].Path != query || near[0].Class != "class 06" || near[0].Distance > 1e-5 {
		t.Errorf("%+v", near)
	}
	if near := find("--class", "class 09"); len(near) != 8 || near[0].Class != "class 09" {
		t.Errorf("%d of a class: %+v", len(near), near)
	}
	// A changed image takes the place of what was at its path.
	writeGradient(t, query, 40, 30)
	say(cli.ExitDone, "added 0 rows, replaced 1; it has 48", append(push, query)...)
	say(cli.ExitDone, "removed 1 row; 47 rows left", append([]string{"remove", query}, in("--in")...)...)
	say(cli.ExitDone, "removed 8 rows; 39 rows left", append([]string{"remove", "--class", "class 09"}, in("--in")...)...)
	say(cli.ExitDone, "39 rows", append([]string{"info"}, in("--in")...)...)
	say(cli.ExitDone, "400  1.0000  1.00", append([]string{"check", "--sample", "20"}, in("--in")...)...)
	say(cli.ExitUsage, "which images?", append([]string{"remove"}, in("--in")...)...)
	say(cli.ExitUsage, "give one of them", append(push, "--split", "test", "--from", "x.npy")...)
	other := filepath.Join(t.TempDir(), "other")
	if code, _, errs := vernier(t, quick(images, other)...); code != cli.ExitDone {
		t.Fatal(errs)
	}
	say(cli.ExitFailed, "another model", append([]string{"push", other, images}, in("--to")...)...)
	say(cli.ExitFailed, "another model", append([]string{"search", other, "--query", query}, in("--in")...)...)
}

func TestGalleryCommandsSayWhatIsMissing(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, cli.ExitUsage, "push, search, remove"},
		{[]string{"push", missing, "a.png"}, cli.ExitUsage, "--to is missing"},
		{[]string{"push", missing, "--to", "x"}, cli.ExitUsage, "which images?"},
		{[]string{"search", missing, "--query", "a.png"}, cli.ExitUsage, "--in is missing"},
		{[]string{"search", missing, "--in", "x"}, cli.ExitUsage, "--query is missing"},
		{[]string{"info", "--in", missing}, cli.ExitFailed, "none"},
		{[]string{"info", "--in", "mysql://db"}, cli.ExitUsage, "want FILE, postgres://"},
		{[]string{"info", "--in", "weaviate://me:hidden@db"}, cli.ExitFailed, "set WEAVIATE_API_KEY"},
		{[]string{"info", "--in", "postgres://me:hidden@db/x"}, cli.ExitFailed, "set PGPASSWORD"},
		{[]string{"info", "--in", "x", "--in", "x"}, cli.ExitUsage, "given twice"},
		{[]string{"compact", "--in", "postgres://db/x"}, cli.ExitUsage, "want one index file"},
		{[]string{"check", "--in", missing, "--candidates", "10,0"}, cli.ExitUsage, "--candidates"},
	} {
		code, out, errs := vernier(t, append([]string{"gallery"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.says) || strings.Contains(out+errs, "hidden") {
			t.Errorf("%v: exit %d, want %d with %q\n%s", c.args, code, c.code, c.says, errs)
		}
	}
}
