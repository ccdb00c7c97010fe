package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/serve/page"
)

// Query is what an embedding is made of: the file of an image, or a row of features.
type Query struct {
	File []byte
	Row  []float32
}

// Config says what is served.
type Config struct {
	Title   string
	Data    string // what the gallery holds, for people
	Gallery gallery.Store
	// Embed makes an embedding of each query, or says why it cannot. Of an image that cannot
	// be decoded, the error is that of package pixels. It is called for two batches at a time.
	Embed func(context.Context, []Query) ([][]float32, []error)
	// Features is how many numbers a row has that the model takes; 0 means that it takes
	// images.
	Features int
	// Candidates are asked of a gallery that is not exact, as gallery.SearchOptions says.
	Candidates int
	// Picture returns the image of a row, or an error if there is none. nil for rows of features.
	Picture func(ctx context.Context, path string) (image.Image, error)
	// Kept, if set, is the folder that the files of images that are put are kept in.
	Kept string
	// Threshold is the largest distance of the same, or nil.
	Threshold *float64
	// Page is the page for people; nil for none.
	Page *page.Page
	// Tokens are what whoever changes the gallery has one of; without any there are no changes.
	Tokens []string
	// Waiting is how many queries may wait and be worked on at a time; 0 means 256.
	Waiting int
	// MaxBytes bounds the body of a request, MaxPixels a picture that is shown; 0 means 20 MiB
	// and data.DefaultMaxPixels.
	MaxBytes, MaxPixels int64
	// AnyHost answers whatever Host a request names: for a server that is meant
	// to be reached from elsewhere.
	AnyHost bool
}

const (
	defaultMaxBytes = 20 << 20
	defaultWaiting  = 256
	minToken        = 16 // characters
)

// Server answers requests.
type Server struct {
	cfg    Config
	info   gallery.Info
	tokens [][sha256.Size]byte

	uploads  *uploads
	seats    *seats
	embedder *batcher[Query, []float32]
	searcher *batcher[wanted, []gallery.Match]
	decoder  *pixels.Decoder
	pictures *pictures
	kept     *kept // nil without Config.Kept
	figures  *figures
	rows     *rowCount
}

// New checks a configuration.
func New(cfg Config) (*Server, error) {
	if cfg.Gallery == nil || cfg.Embed == nil {
		return nil, errors.New("serve: a gallery and an embedding are needed")
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = defaultMaxBytes
	}
	if cfg.Waiting == 0 {
		cfg.Waiting = defaultWaiting
	}
	if cfg.MaxBytes < 1 || cfg.Waiting < 1 || cfg.Features < 0 || cfg.Candidates < 0 {
		return nil, fmt.Errorf("serve: %d bytes, %d queries, %d features and %d candidates: want positive numbers", cfg.MaxBytes, cfg.Waiting, cfg.Features, cfg.Candidates)
	}
	s := &Server{
		cfg: cfg, info: cfg.Gallery.Info(), seats: newSeats(cfg.Waiting), uploads: newUploads(cfg.MaxBytes),
		decoder: pixels.NewDecoder(pixels.Options{MaxPixels: cfg.MaxPixels}),
	}
	for _, token := range cfg.Tokens {
		if len(token) < minToken {
			return nil, fmt.Errorf("serve: a token of %d characters, want at least %d", len(token), minToken)
		}
		s.tokens = append(s.tokens, sha256.Sum256([]byte(token)))
	}
	s.rows = &rowCount{store: cfg.Gallery}
	s.figures = newFigures(s)
	s.embedder = newBatcher(embedBatches, maxEmbedded, s.figures.batch("embed"), cfg.Embed)
	s.searcher = newBatcher(1, maxSearched, s.figures.batch("search"), s.find)
	s.pictures = newPictures(maxPictureBytes, s.picture)
	if cfg.Kept != "" {
		var err error
		if s.kept, err = openKept(cfg.Kept); err != nil {
			return nil, fmt.Errorf("serve: %w", err)
		}
	}
	return s, nil
}
