package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/serve"
)

func newServe(log *logrus.Logger) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve RUN",
		Short: "A local web page: drop an image, see the nearest, mark right and wrong",
		Long: `Embed the images of a run's --split, or of --data, and serve a page on this machine
on which one drops an image, sees the nearest of them with their distances, and marks
each as right or wrong. Marks are added to RUN/` + run.MarksFile + `, a JSON object a line; images
that are dropped are not kept. For a model of features (--data features:X) one drops a
.npy file of one row or pastes its numbers. A row of the gallery is searched for by its
number or path.

The page answers on the loopback address only, and only to requests that name this
machine as their host. With --listen on another address anybody who reaches it can
use it: it has no passwords. Ctrl-C or SIGTERM ends it
after the requests that have begun, with exit status 0.`,
		Example: `  vernier serve runs/birds
  vernier serve runs/birds --split all --listen 127.0.0.1:9000`,
		Args: cli.Takes(false, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], log) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8321", "address and port; port 0 for a free one")
	fl.StringVar(&f.marks, "marks", "", "file that marks are added to (default RUN/"+run.MarksFile+")")
	fl.IntVarP(&f.nearest, "nearest", "k", 12, "number of images or rows to show")
	fl.IntVar(&f.megabytes, "max-mb", 20, "largest image or file that is taken, in MiB")
	fl.BoolVar(&f.asJSON, "json", false, "print where it listens as JSON")
	f.selectionFlags.add(cmd)
	return cmd
}

// serveFlags are those of serve.
type serveFlags struct {
	selectionFlags
	listen, marks string
	nearest       int
	megabytes     int
	asJSON        bool
}

func (f *serveFlags) run(cmd *cobra.Command, path string, log *logrus.Logger) (err error) {
	f.complete(cmd, log)
	folder, eng, err := f.device.OpenRun(path, f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	cfg, err := folder.LoadConfig()
	if err != nil {
		return err
	}
	// Before the work of embedding: the port may be taken.
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer l.Close()
	e, err := run.Embed(cmd.Context(), folder, eng, f.sel)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	c, done, err := serve.FromRun(e, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	c.Title, c.Nearest, c.MaxBytes, c.Marks = folder.Name(), f.nearest, int64(f.megabytes)<<20, f.marks
	if c.Marks == "" {
		c.Marks = folder.Path(run.MarksFile)
	}
	at := l.Addr().(*net.TCPAddr)
	if c.AnyHost = !at.IP.IsLoopback(); c.AnyHost {
		log.Warnf("anybody who reaches %s can use the page and see what it shows", at)
	}
	s, err := serve.New(c)
	if err != nil {
		return err
	}
	for _, remark := range s.Remarks() {
		log.Warn(remark)
	}
	marks := "marks go to " + c.Marks
	if s.NoMarks() != "" {
		marks = s.NoMarks()
	}
	what := "image"
	if c.Width > 0 {
		what = "row"
	}
	url := "http://" + at.String() + "/"
	if f.asJSON {
		err = cli.WriteJSONLine(cmd.OutOrStdout(), map[string]any{"url": url, "rows": c.Gallery.N, "marks": c.Marks, "no_marks": s.NoMarks()})
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s at %s\n%s; Ctrl-C ends it\n", plural.Of(c.Gallery.N, what), url, marks)
	}
	if err != nil {
		return err
	}
	return s.Serve(cmd.Context(), l)
}
