package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/galleries"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/serve"
	"github.com/vernier-ml/vernier/serve/page"
)

func newServe(log *logrus.Logger) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve RUN [--gallery ADDRESS...]",
		Short: "A page and a service to search a gallery by image, and to add and delete",
		Long: `Serve a gallery: a page on which one drops an image, sees the nearest images with
their distances and marks each as right or wrong, and the same for programs. /docs of the
server describes the requests, docs/serve.md explains them.

The gallery is at --gallery: an index as vernier index makes it, a table of PostgreSQL or
a collection of Weaviate that vernier gallery push has filled, or several of these, over which
its rows are spread. What is added to it meanwhile, by requests, by other services or by
commands, is found at once.
Without --gallery it is an index in RUN, of the images of --split or of --data. One index
that is not there is made first, and the next start finds it there; --renew makes it anew.

Whoever sends a token of --token-file may add, replace and delete: a file of one token a
line, of 16 characters at least. What was acknowledged is on the disk of the gallery. --keep is a folder
for the images that are added, so that the page can show them.

Marks are added to RUN/` + run.MarksFile + `, a JSON object a line. Queries are not kept. For a
model of features (--data features:X) a query is a .npy file of rows, or their numbers.

The server answers on the loopback address only, and only to requests that name this
machine as their host. With --listen on another address anybody who reaches it can
search: use --tls-cert and --tls-key, or a proxy. If too many queries wait it
answers 503 with Retry-After. Ctrl-C or SIGTERM ends it after the requests that have begun,
with exit status 0.`,
		Example: `  vernier serve runs/birds
  vernier serve runs/birds --gallery birds.index --token-file tokens --keep birds-added
  vernier serve runs/birds --gallery 'postgres://me@db/birds?table=photos'
  vernier serve runs/birds --split all --listen 127.0.0.1:9000`,
		Args: cli.Takes(false, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], log) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8321", "address and port; port 0 for a free one")
	fl.StringArrayVar(&f.gallery, "gallery", nil, "gallery to serve: "+galleries.AddressHelp+"; may be repeated; an index that is not there is made of --split or --data (default an index in RUN)")
	fl.IntVar(&f.candidates, "candidates", 0, "rows that a database is asked for at each query (default 400, or 20 for each neighbor)")
	fl.BoolVar(&f.renew, "renew", false, "make the index in RUN anew, of the images as they are now")
	fl.StringVar(&f.tokens, "token-file", "", "file of tokens, one a line, for those who add and delete (default nobody may)")
	fl.StringVar(&f.keep, "keep", "", "folder to keep the images in that requests add (default they are not kept)")
	fl.StringVar(&f.certificate, "tls-cert", "", "certificate chain in PEM: serve HTTPS")
	fl.StringVar(&f.key, "tls-key", "", "its private key in PEM")
	fl.StringVar(&f.marks, "marks", "", "file that marks are added to (default RUN/"+run.MarksFile+")")
	fl.IntVar(&f.megabytes, "max-mb", 20, "largest body of a request, in MiB")
	fl.IntVar(&f.waiting, "max-waiting", 256, "queries that may wait and be worked on at a time; more are answered 503")
	fl.BoolVar(&f.asJSON, "json", false, "print where it listens as JSON")
	addCrops(fl, &f.sel.Crops)
	f.selectionFlags.add(cmd)
	return cmd
}

// serveFlags are those of serve.
type serveFlags struct {
	selectionFlags
	listen, marks      string
	gallery            []string
	renew              bool
	tokens, keep       string
	certificate, key   string
	megabytes, waiting int
	candidates         int
	asJSON             bool
}

func (f *serveFlags) run(cmd *cobra.Command, path string, log *logrus.Logger) (err error) {
	if (f.certificate == "") != (f.key == "") {
		return cli.Usagef("--tls-cert and --tls-key: give both or neither")
	}
	if f.renew && len(f.gallery) > 0 {
		return cli.Usagef("--renew is for the index in RUN: vernier index --force makes --gallery anew")
	}
	f.complete(cmd, log)
	tokens, err := readTokens(f.tokens)
	if err != nil {
		return err
	}
	secure, err := f.tls()
	if err != nil {
		return err
	}
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
	g, err := f.openGallery(cmd.Context(), folder, eng, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	m, _, err := folder.LoadModel(eng, f.sel.Choice)
	if err != nil {
		return err
	}
	if err := m.SetCrops(f.sel.Crops); err != nil {
		return err
	}
	c, done, err := serve.FromModel(m, cfg.Data.MaxPixels)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	c.Title, c.Data, c.Gallery = folder.Name(), g.name, g.store
	c.Candidates = f.candidates
	c.MaxBytes, c.Waiting, c.Tokens, c.Kept = int64(f.megabytes)<<20, f.waiting, tokens, f.keep
	if c.Features == 0 {
		shown := newShown(cfg, f.sel)
		defer func() { err = errors.Join(err, shown.close()) }()
		c.Picture = shown.picture
	}
	marks := f.marks
	if marks == "" {
		marks = folder.Path(run.MarksFile)
	}
	c.Page = page.New(marks, g.store.Info().Model)
	at := l.Addr().(*net.TCPAddr)
	if c.AnyHost = !at.IP.IsLoopback(); c.AnyHost {
		log.Warnf("anybody who reaches %s can use the page and see what it shows", at)
	}
	s, err := serve.New(c)
	if err != nil {
		return err
	}
	for _, remark := range c.Page.Remarks() {
		log.Warn(remark)
	}
	stats, err := g.store.Stats(cmd.Context())
	if err != nil {
		return err
	}
	if stats.Rows == 0 {
		log.Warnf("the gallery %s has no rows: vernier gallery push fills it", g.place)
	}
	url := "http://" + at.String() + "/"
	if secure != nil {
		url = "https://" + at.String() + "/"
	}
	if f.asJSON {
		err = cli.WriteJSONLine(cmd.OutOrStdout(), map[string]any{"url": url, "rows": stats.Rows, "gallery": g.place, "marks": marks, "no_marks": c.Page.NoMarks()})
	} else {
		what := "image"
		if c.Features > 0 {
			what = "row"
		}
		told := "marks go to " + marks
		if c.Page.NoMarks() != "" {
			told = c.Page.NoMarks()
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s of %s at %s\n%s; Ctrl-C ends it\n", plural.Of(stats.Rows, what), g.place, url, told)
	}
	if err != nil {
		return err
	}
	return s.Serve(cmd.Context(), l, secure)
}

// tls reads the certificate, if one is given.
func (f *serveFlags) tls() (*tls.Config, error) {
	if f.certificate == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// readTokens reads a file of tokens; lines that are empty or begin with # are none.
func readTokens(path string) (tokens []string, err error) {
	if path == "" {
		return nil, nil
	}
	text, err := wholefile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && line[0] != '#' {
			tokens = append(tokens, line)
		}
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("--token-file: %s holds no token: put one on a line, such as what openssl rand -hex 20 prints", path)
	}
	return tokens, lines.Err()
}
