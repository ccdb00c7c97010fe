package native

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The go command copies what is above import "C" into a folder of its own, and
// CGO_CFLAGS come before the package's folder: a header named as one of an SDK
// (cublas.h, cudnn.h) would be the SDK's.
func TestHeadersAreNotNamedAsThoseOfAnSDK(t *testing.T) {
	include := regexp.MustCompile(`^(?://\s*)?#include "(.*)"`)
	found := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			m := include.FindStringSubmatch(lines.Text())
			if m == nil {
				continue
			}
			found++
			if !strings.HasPrefix(m[1], "vernier_") {
				t.Errorf("%s includes %q, want a name that starts with vernier_", path, m[1])
			}
		}
		return lines.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no header is included anywhere")
	}
}

// The compiler compares them with NVIDIA's in make cuda-wheels-check.
func TestConstantsAreComparedWithTheRealHeaders(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "bench", "cudaheaders.cc"))
	if err != nil {
		t.Fatal(err)
	}
	headers, err := filepath.Glob("vernier_*.h")
	if err != nil || len(headers) == 0 {
		t.Fatalf("%d headers, error %v", len(headers), err)
	}
	comment := regexp.MustCompile(`(?s)/\*.*?\*/`)
	enum := regexp.MustCompile(`(?s)\benum\s*\w*\s*\{(.*?)\}`)
	name := regexp.MustCompile(`(?m)(?:^|,)\s*(\w+)`)
	for _, header := range headers {
		text, err := os.ReadFile(header)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range enum.FindAllStringSubmatch(comment.ReplaceAllString(string(text), ""), -1) {
			for _, m := range name.FindAllStringSubmatch(body[1], -1) {
				if !regexp.MustCompile(`(?m)^(EQUAL|OWN)\(` + m[1] + `\b`).Match(source) {
					t.Errorf("%s: bench/cudaheaders.cc has neither EQUAL(%s, NVIDIA'S NAME) nor OWN(%s)", header, m[1], m[1])
				}
			}
		}
	}
}
