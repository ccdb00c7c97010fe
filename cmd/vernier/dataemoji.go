package main

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/plural"
)

func newDataMake(log *logrus.Logger) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "make",
		Short:   "Make a data set of public drawings",
		Long:    "Make a data set of public drawings that are not a data set yet.",
		Example: "  vernier data make emoji emoji",
		Args:    cli.KnownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDataMakeEmoji(log))
	return cmd
}

func newDataMakeEmoji(log *logrus.Logger) *cobra.Command {
	var from, npm string
	var workers int
	cmd := &cobra.Command{
		Use:   "emoji DIR",
		Short: "Make a set of emoji as four vendors draw them",
		Long: `Make a folder set in which a class is an emoji and its images are the drawings of
Google, Twitter, Microsoft and OpenMoji, 64 x 64 pixels: the same thing in
different pictures. The pictures come to lie in DIR/images, the licences in
DIR/LICENSES.

The drawings are those of four npm packages. Without --from, npm fetches them
into a temporary folder (about 100 MB), and their checksums are verified. With
--from FOLDER they are taken from a folder into which "npm install" put them, or
from the archives of "npm pack".`,
		Example: `  vernier data make emoji emoji
  npm install emoji-datasource-google emoji-datasource-twitter @lobehub/fluent-emoji-3d openmoji
  vernier data make emoji emoji --from node_modules
  vernier train --data folder:emoji/images --size 64 --out runs/emoji`,
		Args: cli.Takes(false, "DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Lstat(args[0]); err == nil {
				return fmt.Errorf("%s already exists; name a new folder", args[0])
			}
			report := newReporter(log)
			if from == "" {
				dir, err := os.MkdirTemp("", "vernier-emoji-")
				if err != nil {
					return err
				}
				defer os.RemoveAll(dir)
				report.Say("fetching the drawings with %s", npm)
				if err := npmPack(cmd.Context(), npm, dir); err != nil {
					return err
				}
				from = dir
			}
			r, err := data.MakeEmoji(cmd.Context(), args[0], from, data.EmojiOptions{
				Workers: workers, Progress: func(done, total int) { report.Progress("drawing emoji", done, total, "") },
			})
			if err != nil {
				return err
			}
			if n := len(r.LeftOut); n > 0 {
				report.Say("%d emoji left out, most because a vendor draws them as it draws another; %s lists them", n, filepath.Join(args[0], "left-out.txt"))
			}
			images := filepath.Join(args[0], "images")
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %s from %s\nlicences: %s\nuse it as --data folder:%s\n",
				images, plural.Of(r.Classes, "class"), plural.Of(r.Images, "image"), strings.Join(r.Packages, ", "), filepath.Join(args[0], "LICENSES"), images)
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "folder with the npm packages (default npm fetches them)")
	cmd.Flags().StringVar(&npm, "npm", "npm", "npm program that fetches the packages")
	cmd.Flags().IntVar(&workers, "workers", 0, "goroutines that draw (default one a core)")
	return cmd
}

// npmPack lets npm put the packages' archives into a folder, and verifies them.
func npmPack(ctx context.Context, npm, dir string) error {
	packages := data.EmojiPackages()
	args := []string{"pack", "--silent", "--ignore-scripts", "--pack-destination", dir}
	for _, p := range packages {
		args = append(args, p.Spec())
	}
	cmd := exec.CommandContext(ctx, npm, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%w; install npm, or fetch the packages elsewhere (npm pack %s) and give their folder with --from", err, strings.Join(args[5:], " "))
		}
		return fmt.Errorf("%s pack: %w\n%s", npm, err, strings.TrimSpace(string(out)))
	}
	for _, p := range packages {
		file := filepath.Join(dir, p.Archive())
		sum, err := sha512File(file)
		if err != nil {
			return err
		}
		if sum != p.SHA512 {
			return fmt.Errorf("%s: its SHA-512 is %s, not the %s of %s", p.Archive(), sum, p.SHA512, p.Spec())
		}
	}
	return nil
}

func sha512File(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}
