package weaviate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/gallery/internal/advice"
)

// maxAnswer bounds the answer to a request, so that a server that is none fills no memory.
const maxAnswer = 1 << 30

func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	transport.MaxIdleConnsPerHost = 16
	return &http.Client{Transport: transport}
}

// problem is an answer of the server that is not 200.
type problem struct {
	status int
	says   string
}

func (p problem) Error() string { return fmt.Sprintf("Weaviate says: %s (%d)", p.says, p.status) }

// statusOf is the status of an answer that is an error, else 0.
func statusOf(err error) int {
	var p problem
	if errors.As(err, &p) {
		return p.status
	}
	return 0
}

// call sends a request and decodes the answer into to, if that is not nil.
func (s *Store) call(ctx context.Context, method, path string, body, to any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.at.base+path, content)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.at.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.at.key)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) { // it names the request, of which nobody has heard
			err = bad.Err
		}
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return problem{answer.StatusCode, message(text)}
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("an answer that is not Weaviate's: %w", err)
	}
	return nil
}

// message is what an answer says of an error.
func message(text []byte) string {
	var list struct {
		Error   []struct{ Message string }
		Message string
	}
	if json.Unmarshal(text, &list) == nil {
		var all []string
		for _, e := range list.Error {
			all = append(all, e.Message)
		}
		if list.Message != "" {
			all = append(all, list.Message)
		}
		if len(all) > 0 {
			return strings.Join(all, "; ")
		}
	}
	return strings.TrimSpace(string(text[:min(len(text), 200)]))
}

// explain says of an error of the server what to do about it.
func (s *Store) explain(ctx context.Context, err error) error {
	if err == nil || advice.IsExplained(err) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hint, away := "", false
	switch status := statusOf(err); {
	case errors.Is(err, errNodeAway):
		hint, away = "wait until all nodes are up and less busy; the same command may be given again", true
	case status == http.StatusUnauthorized:
		hint = fmt.Sprintf("set %s to the key of an account, or %s to a file that holds it", keyVariable, fileVariable)
	case status == http.StatusForbidden:
		hint = "the account lacks a right: it must read and change the collections " + s.at.collection + " and " + s.at.collection + stateSuffix
	case status == http.StatusTooManyRequests || status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout:
		hint, away = "wait until the server is up; the same command may be given again", true
	case status == 0 && errors.As(err, new(net.Error)):
		hint, away = fmt.Sprintf("is a Weaviate server running at %s, and may this machine connect to it?", s.at.host), true
	case status == 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		hint, away = "the server went away; the same command may be given again", true
	}
	err = fmt.Errorf("%s: %w", s.at.shown, err)
	if hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	if away {
		err = advice.Unavailable(err)
	}
	return advice.Explained(err)
}
