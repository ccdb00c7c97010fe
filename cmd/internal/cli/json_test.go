package cli

import (
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
)

func TestJSONKeepsCharactersOfHTML(t *testing.T) {
	v := map[string]any{"range": "> 0", "figures": eval.Figures{PerClass: []eval.GroupFigures{{Name: "<black & white>"}}}}
	for name, write := range map[string]func(*strings.Builder) error{
		"indented": func(b *strings.Builder) error { return WriteJSON(b, v) },
		"line":     func(b *strings.Builder) error { return WriteJSONLine(b, v) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, `"> 0"`) || !strings.Contains(text, `"<black & white>"`) {
			t.Errorf("%s: %s", name, text)
		}
		if lines := strings.Count(b.String(), "\n"); (lines == 1) != (name == "line") {
			t.Errorf("%s: %d lines", name, lines)
		}
	}
}
