package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan makes the hidden command man of a program, for whoever packages Vernier.
func newMan(program string) *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write manual pages",
		Long:    "Write a manual page (section 1) for every command into FOLDER, which is made if it is missing. SOURCE_DATE_EPOCH sets their date.",
		Example: "  " + program + " man /usr/local/share/man/man1",
		Args:    Takes(false, "FOLDER"),
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			date, err := sourceDate()
			if err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: strings.ToUpper(program), Section: "1", Source: program + " " + Version(), Date: &date}
			return doc.GenManTree(root, header, args[0])
		},
	}
}

// sourceDate is now, or what SOURCE_DATE_EPOCH says, so that a release can be built
// again to the same bytes.
func sourceDate() (time.Time, error) {
	const variable = "SOURCE_DATE_EPOCH"
	text := os.Getenv(variable)
	if text == "" {
		return time.Now(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s=%q: want seconds since 1970", variable, text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
