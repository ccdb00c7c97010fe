package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
)

func TestDataGetListsSetsWithTheirTerms(t *testing.T) {
	code, out, errs := vernier(t, "data", "get")
	for _, word := range []string{"cub200", "non-commercial", "kmnist", "CC BY-SA 4.0", "3.1 GB"} {
		if code != cli.ExitDone || !strings.Contains(out, word) {
			t.Errorf("exit %d, no %q in\n%s%s", code, word, out, errs)
		}
	}
	code, out, _ = vernier(t, "data", "get", "--help")
	if code != cli.ExitDone || !strings.Contains(out, "Examples:") {
		t.Errorf("--help: exit %d\n%s", code, out)
	}
}

func TestDataGetStoresNothingThatIsNotTheSet(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/omniglot/images_background.zip" {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte("a page about cookies"))
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "sets")
	code, out, errs := vernier(t, "data", "get", "omniglot", "--dir", dir, "--mirror", server.URL+"/omniglot/")
	if code != cli.ExitFailed || !strings.Contains(errs, "checksum") || !strings.Contains(errs, "licence: MIT") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	for name, says := range map[string]string{"cars196": "cars196:FOLDER", "inshop": "agreement", "birds": "omniglot"} {
		if code, _, errs := vernier(t, "data", "get", name); code != cli.ExitFailed || !strings.Contains(errs, says) {
			t.Errorf("%s: exit %d\n%s", name, code, errs)
		}
	}
}
