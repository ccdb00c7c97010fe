package main

import (
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
)

// A flag's help is read without its neighbors: it begins with what the flag is, and not
// with what that is of.
func TestHelpOfFlagsStandsAlone(t *testing.T) {
	eachFlag(newRoot(logrus.New()), func(path []string, f *pflag.Flag) {
		for _, start := range []string{"of ", "both", "the same", "that "} {
			if strings.HasPrefix(f.Usage, start) || f.Usage == "" {
				t.Errorf("%s --%s: %q", strings.Join(path, " "), f.Name, f.Usage)
			}
		}
	})
}
