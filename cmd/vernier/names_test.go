package main

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a user reads of a set with hostile names has no control characters; what a
// program reads has the names as they are.
func TestNamesDoNotReachTheTerminal(t *testing.T) {
	const class, other, broken = "\x1b[31mred\nnothing is wrong", "\u202eolleh", "bad\x07.png"
	root := t.TempDir()
	var dot bytes.Buffer
	if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{class + "/1.png": dot.Bytes(), class + "/2.png": dot.Bytes(), other + "/1.png": dot.Bytes(), other + "/" + broken: []byte("no image")} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Skip(err) // no names as these here
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Skip(err)
		}
	}
	for _, args := range [][]string{
		{"data", "check", "folder:" + root},
		{"data", "check", "folder:" + root + "/\x1b]0;title\x07"},
		{"embed", "--weights", "\x1b[2J.pth", root},
		{"\x1b[31mcommand"},
	} {
		var out, log bytes.Buffer
		execute(context.Background(), args, &out, &log)
		for _, c := range out.String() + log.String() {
			if c < ' ' && c != '\n' && c != '\t' || c == '\u202e' {
				t.Errorf("%q prints %q: %q", args, c, out.String()+log.String())
				break
			}
		}
		if args[0] == "data" && strings.Contains(out.String(), "\nnothing is wrong") {
			t.Errorf("a name of two lines looks like the verdict: %q", out.String())
		}
	}
	var out, log bytes.Buffer
	execute(context.Background(), []string{"data", "check", "folder:" + root, "--json"}, &out, &log)
	if !json.Valid(out.Bytes()) {
		t.Errorf("not JSON: %s", out.String())
	}
	if !strings.Contains(out.String(), `\u001b[31mred\nnothing is wrong`) || !strings.Contains(out.String(), `bad\u0007.png`) {
		t.Errorf("JSON: %s", out.String())
	}
}
