package serve

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"image"
	"net"
	"net/http"
	"time"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
)

// Config says what is served.
type Config struct {
	Title   string
	Gallery *gallery.Table
	Info    gallery.Info // of what Embed makes
	Engine  eval.Engine  // that searches; it is used by one request at a time
	// Embed makes a row of an image. It is called by one request at a time.
	Embed func(context.Context, *pixels.RGB) ([]float32, error)
	// Picture returns an image of the gallery.
	Picture func(ctx context.Context, row int) (image.Image, error)
	// EmbedRow takes the place of Embed for a model of rows of Width numbers; there are no
	// pictures then. It is called by one request at a time.
	EmbedRow func(context.Context, []float32) ([]float32, error)
	Width    int
	// Threshold is the largest distance of the same, or nil.
	Threshold *float64
	// Marks is the file that marks are added to, a JSON object a line.
	Marks string
	// Nearest is how many images are shown; 0 means 12.
	Nearest int
	// MaxBytes bounds an image that is sent, MaxPixels one that is decoded; 0
	// means 20 MiB and data.DefaultMaxPixels.
	MaxBytes, MaxPixels int64
	// AnyHost answers whatever Host a request names: for a server that is meant
	// to be reached from elsewhere.
	AnyHost bool
}

// Limits of a request.
const (
	defaultMaxBytes = 20 << 20
	defaultNearest  = 12
	maxMarkBytes    = 4 << 10
	maxHeaderBytes  = 16 << 10
	waiting         = 8 // searches at once; one works, the others wait
	remembered      = 256
)

// Timeouts of a connection.
const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 30 * time.Second
	writeTimeout    = 2 * time.Minute // a search waits for others
	stallTimeout    = 5 * time.Second // of a body that stops coming
	idleTimeout     = time.Minute
	shutdownTimeout = 5 * time.Second
)

//go:embed page.html app.js style.css
var files embed.FS

// Server answers requests.
type Server struct {
	cfg   Config
	rows  *gallery.Searcher
	seats chan struct{} // of searches that work or wait
	turn  chan struct{} // of the one that works
	asked *memory
	marks *markFile

	uploads  *uploads
	decoder  *pixels.Decoder
	pictures *pictures
	noMarks  string // why no mark can be kept, if so
	remarks  []string
}

// New checks a configuration.
func New(cfg Config) (*Server, error) {
	if images, rows := cfg.Embed != nil && cfg.Picture != nil, cfg.EmbedRow != nil && cfg.Width > 0; cfg.Gallery == nil || cfg.Gallery.N < 1 || cfg.Engine == nil || images == rows {
		return nil, errors.New("serve: a gallery with rows and an engine are needed, and either an embedding of images and pictures or one of rows and their width")
	}
	if cfg.Nearest == 0 {
		cfg.Nearest = defaultNearest
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = defaultMaxBytes
	}
	if cfg.Nearest < 1 || cfg.MaxBytes < 1 {
		return nil, fmt.Errorf("serve: %d images and %d bytes: want positive numbers", cfg.Nearest, cfg.MaxBytes)
	}
	rows, err := cfg.Gallery.Searcher(cfg.Engine, cfg.Info)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s := &Server{
		cfg: cfg, rows: rows, seats: make(chan struct{}, waiting), turn: newTurn(),
		asked: newMemory(remembered), marks: &markFile{path: cfg.Marks, open: openAppended},
		uploads: newUploads(cfg.MaxBytes), decoder: pixels.NewDecoder(pixels.Options{MaxPixels: cfg.MaxPixels}),
	}
	s.pictures = newPictures(maxPictureBytes, s.picture)
	s.checkMarks()
	return s, nil
}

// checkMarks finds out before somebody has marked anything whether it can be kept.
func (s *Server) checkMarks() {
	remark, err := s.marks.check()
	if err != nil {
		s.noMarks = fmt.Sprintf("marks cannot be kept: %v", err)
		remark = fmt.Sprintf("%s: %s", s.cfg.Marks, s.noMarks)
	}
	if remark != "" {
		s.remarks = append(s.remarks, remark)
	}
}

// NoMarks says why marks cannot be kept; it is empty if they can.
func (s *Server) NoMarks() string { return s.noMarks }

// Remarks is what whoever starts the server should know.
func (s *Server) Remarks() []string { return s.remarks }

// Handler answers the requests of the page.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, file := range map[string][2]string{
		"GET /{$}":       {"page.html", "text/html; charset=utf-8"},
		"GET /app.js":    {"app.js", "text/javascript; charset=utf-8"},
		"GET /style.css": {"style.css", "text/css; charset=utf-8"},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.file(w, file[0], file[1]) })
	}
	mux.HandleFunc("GET /about", s.about)
	mux.HandleFunc("GET /image/{row}", s.image)
	mux.HandleFunc("POST /search", s.search)
	mux.HandleFunc("POST /mark", s.mark)
	return s.guard(http.NewCrossOriginProtection().Handler(mux))
}

// guard refuses requests to other hosts and says what a browser may do with the
// answers.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !s.cfg.AnyHost && !loopback(r.Host) {
			fail(w, http.StatusForbidden, fmt.Errorf("this server answers to localhost only, not to %q", r.Host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopback reports whether a Host header names the machine itself.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if name == "localhost" {
		return true
	}
	if len(name) > 1 && name[0] == '[' && name[len(name)-1] == ']' {
		name = name[1 : len(name)-1]
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

func (s *Server) file(w http.ResponseWriter, name, kind string) {
	text, err := files.ReadFile(name)
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(text) // the client has gone
}

// Serve answers requests until ctx ends, and then those that have begun.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := srv.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}
