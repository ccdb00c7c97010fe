package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/vernier-ml/vernier/serve/api"
)

const maxHeaderBytes = 16 << 10

// Timeouts of a connection.
const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 30 * time.Second
	writeTimeout    = 2 * time.Minute // a search waits for others
	stallTimeout    = 5 * time.Second // of a body that stops coming
	idleTimeout     = time.Minute
	shutdownTimeout = 20 * time.Second
)

// Handler answers the requests of programs and of the page.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, do http.HandlerFunc, parameters ...string) {
		mux.Handle(pattern, s.figures.observe(pattern, only(parameters, do)))
	}
	handle("POST "+api.SearchPath, s.search, "k", "offset", "class")
	handle("PUT "+api.ImagesPath, s.authorized(s.put), "path", "class")
	handle("DELETE "+api.ImagesPath, s.authorized(s.delete), "path", "key", "class")
	handle("GET "+api.PicturePath, s.image, "key")
	handle("GET "+api.InfoPath, s.describe)
	handle("GET /healthz", s.healthy)
	handle("GET /readyz", s.ready)
	handle("GET /openapi.json", s.document)
	handle("GET /docs", s.documentPage)
	handle("GET /metrics", s.figures.answer().ServeHTTP)
	if s.cfg.Page != nil {
		for pattern, do := range s.cfg.Page.Handlers() {
			handle(pattern, do)
		}
	}
	return s.guard(http.NewCrossOriginProtection().Handler(mux))
}

// Serve answers requests until ctx ends, and then those that have begun. With a
// configuration of TLS it speaks nothing else.
func (s *Server) Serve(ctx context.Context, l net.Listener, secure *tls.Config) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, TLSConfig: secure,
	}
	ended := make(chan error, 1)
	go func() {
		if secure != nil {
			ended <- srv.ServeTLS(l, "", "")
			return
		}
		ended <- srv.Serve(l)
	}()
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
