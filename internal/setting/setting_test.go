package setting

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestTheReaderNamesTheSettings(t *testing.T) {
	flag := func(n Name) string { return "--" + strings.TrimPrefix(string(n), "optimizer.") }
	inner := Errorf("%d%% of it: lower %s: %w", 30, Name("optimizer.rate"), io.EOF)
	for _, c := range []struct {
		err         error
		plain, flag string
	}{
		{io.EOF, "EOF", "EOF"},
		{inner, "30% of it: lower optimizer.rate: EOF", "30% of it: lower --rate: EOF"},
		{fmt.Errorf("a: %w; b", inner), "a: 30% of it: lower optimizer.rate: EOF; b", "a: 30% of it: lower --rate: EOF; b"},
		{Errorf("%s or %w", Name("epochs"), inner), "epochs or 30% of it: lower optimizer.rate: EOF", "--epochs or 30% of it: lower --rate: EOF"},
	} {
		if got := c.err.Error(); got != c.plain {
			t.Errorf("%q, want %q", got, c.plain)
		}
		if got := Text(c.err, flag); got != c.flag {
			t.Errorf("%q, want %q", got, c.flag)
		}
		if !errors.Is(c.err, io.EOF) {
			t.Errorf("%v does not wrap what it should", c.err)
		}
	}
}
