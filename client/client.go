// Package client asks a service of vernier serve: it searches by images, embeddings and rows,
// adds and deletes. A program that imports it links no networks.
//
//	c, err := client.New("http://127.0.0.1:8321")
//	found, err := c.SearchImage(ctx, jpeg, client.Options{K: 5})
//
// When the service is busy (503), a request is sent again after the time that the service asks
// for, until the context ends.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/serve/api"
)

// Client asks one service. Its methods may be called by several goroutines at a time.
type Client struct {
	at    *url.URL
	http  *http.Client
	token string
	tries int
}

// Option changes a Client.
type Option func(*Client)

// WithToken sends a token with changes: a line of the file of --token-file.
func WithToken(token string) Option { return func(c *Client) { c.token = token } }

// WithHTTP sends requests by h, which may know further certificates or have limits of time, in place of
// http.DefaultClient.
func WithHTTP(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithTries bounds how often a request is sent while the service is busy; the default is 10.
func WithTries(n int) Option { return func(c *Client) { c.tries = n } }

// New makes a client of the service at an address such as http://127.0.0.1:8321. It sends
// nothing yet.
func New(address string, options ...Option) (*Client, error) {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.RawQuery != "" {
		return nil, fmt.Errorf("client: the address %q is not like http://127.0.0.1:8321", address)
	}
	at.Path = strings.TrimSuffix(at.Path, "/")
	c := &Client{at: at, http: http.DefaultClient, tries: 10}
	for _, o := range options {
		o(c)
	}
	if c.http == nil || c.tries < 1 {
		return nil, errors.New("client: WithHTTP needs a client, WithTries at least 1")
	}
	return c, nil
}

// Error is an answer of the service that is not 200.
type Error struct {
	Status  int
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("the service answered %d: %s", e.Status, e.Message)
}

// Options say how many rows are found for each query, and which.
type Options struct {
	K      int    // 0 means api.DefaultK
	Offset int    // rows to pass over: the start of a page
	Class  string // only rows of this class; empty for all
}

// Info asks what is served.
func (c *Client) Info(ctx context.Context) (*api.Info, error) {
	return send[api.Info](ctx, c, http.MethodGet, api.InfoPath, nil, "", nil)
}

// Search finds the rows that are nearest to what s says.
func (c *Client) Search(ctx context.Context, s api.Search) (*api.Found, error) {
	return sendJSON[api.Found](ctx, c, http.MethodPost, api.SearchPath, s)
}

// SearchImage finds the rows that are nearest to an image, given as the content of its file.
func (c *Client) SearchImage(ctx context.Context, file []byte, o Options) (*api.Found, error) {
	query := url.Values{}
	if o.K != 0 {
		query.Set("k", strconv.Itoa(o.K))
	}
	if o.Offset != 0 {
		query.Set("offset", strconv.Itoa(o.Offset))
	}
	if o.Class != "" {
		query.Set("class", o.Class)
	}
	return send[api.Found](ctx, c, http.MethodPost, api.SearchPath, query, "application/octet-stream", file)
}

// SearchImages is SearchImage for several images, at most api.MaxQueries: a result for each.
func (c *Client) SearchImages(ctx context.Context, files [][]byte, o Options) (*api.Found, error) {
	fields := map[string]string{}
	if o.K != 0 {
		fields["k"] = strconv.Itoa(o.K)
	}
	if o.Offset != 0 {
		fields["offset"] = strconv.Itoa(o.Offset)
	}
	if o.Class != "" {
		fields["class"] = o.Class
	}
	images := make([]Image, len(files))
	for i, f := range files {
		images[i] = Image{Path: strconv.Itoa(i), File: f}
	}
	kind, body, err := form(images, fields)
	if err != nil {
		return nil, err
	}
	return send[api.Found](ctx, c, http.MethodPost, api.SearchPath, nil, kind, body)
}

// Image is an image that is put: the content of its file, and the path that it is to be known by.
type Image struct {
	Path string
	File []byte
}

// PutImages adds images of a class, at most api.MaxImages. Images whose path or content is
// there already take the place of the earlier ones. Once it returns, they are on the
// service's disk.
func (c *Client) PutImages(ctx context.Context, class string, images ...Image) (*api.Changed, error) {
	fields := map[string]string{}
	if class != "" {
		fields["class"] = class
	}
	kind, body, err := form(images, fields)
	if err != nil {
		return nil, err
	}
	return send[api.Changed](ctx, c, http.MethodPut, api.ImagesPath, nil, kind, body)
}

// Put adds rows that are embedded already, or rows of features.
func (c *Client) Put(ctx context.Context, rows ...api.Row) (*api.Changed, error) {
	return sendJSON[api.Changed](ctx, c, http.MethodPut, api.ImagesPath, api.Put{Rows: rows})
}

// Delete removes rows: those of keys, of paths, or of a class.
func (c *Client) Delete(ctx context.Context, d api.Delete) (*api.Changed, error) {
	return sendJSON[api.Changed](ctx, c, http.MethodDelete, api.ImagesPath, d)
}

// form is the body of a form of images, and its type.
func form(images []Image, fields map[string]string) (kind string, body []byte, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range fields {
		if err := w.WriteField(name, value); err != nil {
			return "", nil, err
		}
	}
	for _, img := range images {
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", multipart.FileContentDisposition("image", img.Path))
		h.Set("Content-Type", "application/octet-stream")
		part, err := w.CreatePart(h)
		if err == nil {
			_, err = part.Write(img.File)
		}
		if err != nil {
			return "", nil, err
		}
	}
	err = w.Close()
	return w.FormDataContentType(), b.Bytes(), err
}

func sendJSON[A any](ctx context.Context, c *Client, method, path string, v any) (*A, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return send[A](ctx, c, method, path, nil, "application/json", body)
}

// send sends a request until the service is not busy, and reads the answer.
func send[A any](ctx context.Context, c *Client, method, path string, query url.Values, kind string, body []byte) (*A, error) {
	for try := 1; ; try++ {
		answer, wait, err := once[A](ctx, c, method, path, query, kind, body)
		if busy := (*Error)(nil); !errors.As(err, &busy) || busy.Status != http.StatusServiceUnavailable || try == c.tries {
			if err != nil {
				return nil, fmt.Errorf("client: %w", err)
			}
			return answer, nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, fmt.Errorf("client: %w, after: %w", context.Cause(ctx), err)
		}
	}
}

// maxWait bounds what a service may ask to wait for.
const maxWait = time.Minute

func once[A any](ctx context.Context, c *Client, method, path string, query url.Values, kind string, body []byte) (answer *A, wait time.Duration, err error) {
	to := *c.at
	to.Path += path
	to.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if c.token != "" && path == api.ImagesPath {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	w, err := c.http.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the answer: %w", err)
	}
	if w.StatusCode != http.StatusOK {
		seconds, err := strconv.Atoi(w.Header.Get("Retry-After"))
		if err != nil || seconds < 0 {
			seconds = 1
		}
		said := api.Error{}
		if json.Unmarshal(text, &said) != nil || said.Error == "" {
			said.Error = http.StatusText(w.StatusCode)
		}
		return nil, min(time.Duration(seconds)*time.Second, maxWait), &Error{w.StatusCode, said.Error}
	}
	answer = new(A)
	if err := json.Unmarshal(text, answer); err != nil {
		return nil, 0, fmt.Errorf("reading the answer: %w", err)
	}
	return answer, 0, nil
}
