package weaviate

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// DefaultCollection is the collection of an address that names none.
const DefaultCollection = "Vernier"

// Variables of the environment that hold the key of an account, or name a file that holds it.
const (
	keyVariable  = "WEAVIATE_API_KEY"
	fileVariable = "WEAVIATE_API_KEY_FILE"
)

const (
	scheme      = "weaviate://"
	defaultPort = "8080"
	maxShards   = 1024
)

// IsAddress reports whether text is the address of a collection and no file.
func IsAddress(text string) bool { return strings.HasPrefix(text, scheme) }

// address is where a gallery lies.
type address struct {
	base       string // of requests
	host       string
	collection string
	shards     int    // of a new collection; 0 for one on each node
	shown      string // for people
	key        string
}

var collectionName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]{0,59}$`)

const wanted = "want weaviate://HOST:PORT?collection=NAME"

// parseAddress reads weaviate://HOST:PORT?collection=NAME, with the further parameters
// tls=true and shards=N. It refuses secrets: other users of a machine can read the arguments
// of its programs.
func parseAddress(text string) (a address, err error) {
	u, err := url.Parse(text)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) { // it repeats the address
			err = bad.Err
		}
		return a, fmt.Errorf("an address of Weaviate cannot be read: %w; %s", err, wanted)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return a, errors.New("an address of Weaviate cannot be read: " + wanted)
	}
	if u.User != nil {
		return a, fmt.Errorf("an address of Weaviate holds a user or key, which other users of this machine could see: leave it out, and set %s, or %s to a file that holds the key", keyVariable, fileVariable)
	}
	protocol := "http"
	a.collection = DefaultCollection
	for name, values := range query {
		value := values[0]
		switch {
		case len(values) > 1:
			return a, fmt.Errorf("parameter %s of an address of Weaviate is given twice", name)
		case name == "collection":
			a.collection = value
		case name == "tls" && value == "true":
			protocol = "https"
		case name == "tls" && value == "false":
		case name == "shards":
			if a.shards, err = strconv.Atoi(value); err != nil || a.shards < 1 || a.shards > maxShards {
				return a, fmt.Errorf("shards=%s of an address of Weaviate: want a whole number from 1 to %d", value, maxShards)
			}
		case name == "tls":
			return a, fmt.Errorf("tls=%s of an address of Weaviate: want true or false", value)
		default:
			return a, fmt.Errorf("an address of Weaviate has no parameter %s: there are collection, tls and shards", name)
		}
	}
	if !collectionName.MatchString(a.collection) {
		return a, fmt.Errorf("collection %q of an address: want a capital letter, and then letters, digits and _, at most 60 in all", a.collection)
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	a.host = net.JoinHostPort(u.Hostname(), port)
	a.base = protocol + "://" + a.host
	a.shown = fmt.Sprintf("collection %s at %s", a.collection, a.host)
	a.key, err = readKey()
	return a, err
}

// readKey reads the key of the account.
func readKey() (string, error) {
	if key := os.Getenv(keyVariable); key != "" {
		return key, nil
	}
	file := os.Getenv(fileVariable)
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", fileVariable, err)
	}
	return string(bytes.TrimSpace(text)), nil
}
