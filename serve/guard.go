package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/serve/api"
)

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
			api.Fail(w, http.StatusForbidden, fmt.Errorf("this server answers to localhost only, not to %q", r.Host))
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

// only refuses parameters of the URL that are not known, or that are given twice but for
// lists: what would be passed over in silence was meant for something.
func only(known []string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		for _, name := range slices.Sorted(maps.Keys(query)) {
			if !slices.Contains(known, name) {
				api.Fail(w, http.StatusBadRequest, unknown(name, known))
				return
			}
			if len(query[name]) > 1 && r.Method != http.MethodDelete {
				api.Fail(w, http.StatusBadRequest, fmt.Errorf("the parameter %s is given %d times, want once", name, len(query[name])))
				return
			}
		}
		next(w, r)
	}
}

func unknown(name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("there is no parameter %q here, nor any other", name)
	}
	return fmt.Errorf("there is no parameter %q here; there is: %s%s", name, strings.Join(known, ", "), nearest.Hint(name, known))
}

// authorized asks for a token.
func (s *Server) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if len(s.tokens) == 0 {
			api.Fail(w, http.StatusForbidden, errors.New("this gallery is for searching alone: the service was started without a file of tokens"))
			return
		}
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		sum, right := sha256.Sum256([]byte(token)), 0
		for i := range s.tokens {
			right |= subtle.ConstantTimeCompare(sum[:], s.tokens[i][:])
		}
		if !ok || right == 0 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="changes of the gallery"`)
			api.Fail(w, http.StatusUnauthorized, errors.New("changes need the header Authorization: Bearer TOKEN, with a token that the service was started with"))
			return
		}
		next(w, r)
	}
}
