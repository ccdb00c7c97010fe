package weaviate

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/gallery"
)

func TestParseAddress(t *testing.T) {
	t.Setenv(keyVariable, "")
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(fileVariable, file)
	for text, want := range map[string]address{
		"weaviate://db": {base: "http://db:8080", host: "db:8080", collection: "Vernier", shown: "collection Vernier at db:8080", key: "secret"},
		"weaviate://db:99/?collection=Birds_1&tls=false":     {base: "http://db:99", host: "db:99", collection: "Birds_1", shown: "collection Birds_1 at db:99", key: "secret"},
		"weaviate://[::1]:99?collection=B&tls=true&shards=8": {base: "https://[::1]:99", host: "[::1]:99", collection: "B", shards: 8, shown: "collection B at [::1]:99", key: "secret"},
	} {
		if got, err := parseAddress(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"weaviate://":                      "want weaviate://HOST:PORT",
		"weaviate://db/birds":              "want weaviate://HOST:PORT",
		"weaviate://me:hidden@db":          "leave it out, and set WEAVIATE_API_KEY",
		"weaviate://db:x%zz":               "cannot be read",
		"weaviate://db?collection=birds":   "want a capital letter",
		"weaviate://db?table=Birds":        "has no parameter table",
		"weaviate://db?tls=yes":            "want true or false",
		"weaviate://db?shards=0":           "from 1 to 1024",
		"weaviate://db?tls=true&tls=false": "given twice",
	} {
		if _, err := parseAddress(text); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	t.Setenv(fileVariable, filepath.Join(t.TempDir(), "none"))
	if _, err := parseAddress("weaviate://db"); err == nil || !strings.Contains(err.Error(), fileVariable) {
		t.Errorf("a file that is not there: %v", err)
	}
	if !IsAddress("weaviate://db") || IsAddress("weaviate.index") {
		t.Error("IsAddress")
	}
}

func TestGraphQL(t *testing.T) {
	one := int64(1)
	for want, all := range map[string][]where{
		"": nil,
		`where: {path: ["push"], operator: LessThanEqual, valueInt: 1}`: {{Path: []string{"push"}, Operator: "LessThanEqual", ValueInt: &one}},
		`where: {operator: And, operands: [{path: ["a"], operator: ContainsAny, valueText: ["x","\"y"]}, {path: ["push"], operator: ContainsAny, valueInt: [2,3]}]}`: {
			{Path: []string{"a"}, Operator: "ContainsAny", ValueTexts: []string{"x", `"y`}}, {Path: []string{"push"}, Operator: "ContainsAny", ValueInts: []int64{2, 3}},
		},
	} {
		if got := graphQL(all); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Answers that are no success say what to do, and which of them may be tried again.
func TestAnswersOfTheServer(t *testing.T) {
	t.Setenv(keyVariable, "hidden")
	status, body := 0, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hidden" {
			t.Errorf("the key is not sent: %v", r.Header)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	at := "weaviate://" + strings.TrimPrefix(server.URL, "http://")
	info := gallery.Info{Metric: "euclidean", Model: "00", Dim: 2}
	for _, c := range []struct {
		status int
		body   string
		says   string
		away   bool
	}{
		{401, `{"code":401,"message":"invalid api key"}`, "Weaviate says: invalid api key (401); set WEAVIATE_API_KEY", false},
		{403, `{"error":[{"message":"forbidden"}]}`, "forbidden (403); the account lacks a right: it must read and change the collections Vernier and Vernier_state", false},
		{503, "", "wait until the server is up", true},
		{200, `{"properties": {"content": "{\"format\": 1, \"metric\": \"euclidean\", \"model\": \"00\", \"dim\": 2}"}, "errors": [{"message": "remote shard: connect: timeout"}]}`, "less busy", true},
		{200, "<html>", "an answer that is not Weaviate's", false},
		{200, `{"properties": {"content": "{\"format\": 9}"}}`, "is of format 9, and format 1 is read", false},
		{200, `{"properties": {"content": "{\"format\": 1, \"metric\": \"euclidean\", \"model\": \"11\", \"dim\": 2}"}}`, "another model", false},
	} {
		status, body = c.status, c.body
		s, err := Open(context.Background(), at, info, Options{})
		if err == nil {
			_, err = s.Stats(context.Background())
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hidden") || errors.Is(err, gallery.ErrUnavailable) != c.away {
			t.Errorf("%d: %v, want %q, away %v", c.status, err, c.says, c.away)
		}
	}
	server.Close()
	if _, err := Open(context.Background(), at, info, Options{}); !errors.Is(err, gallery.ErrUnavailable) || !strings.Contains(err.Error(), "is a Weaviate server running at 127.0.0.1:") {
		t.Errorf("nobody listens: %v", err)
	}
	if _, err := Open(context.Background(), at, gallery.Info{Metric: "poincare:c=1", Model: "00", Dim: 3}, Options{}); err == nil || !strings.Contains(err.Error(), "index file") {
		t.Errorf("hyperbolic rows: %v", err)
	}
}
