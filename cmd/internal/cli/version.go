package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is the version that CHANGELOG.md describes first; the Makefile reads it here.
const release = "0.1.0"

// version is set by the Makefile: the release and the commit.
var version = ""

// newVersion makes the command version of a program.
func newVersion(program string) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of this binary, the Go version it was built with, and the platform.",
		Example: "  " + program + " version",
		Args:    Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s %s %s/%s\n", program, Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// Version is the version of this binary: what the Makefile set, else what the go command
// recorded, else the release.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 7 {
			return release + "+" + s.Value[:7]
		}
	}
	return release
}
