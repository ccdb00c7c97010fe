package storetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/gallery"
)

// pushVariable, in the environment, is an address that a process of its own pushes to.
const pushVariable = "VERNIER_TEST_PUSH"

// Main runs the tests, or, in a process that Push makes, puts n rows into the store that open
// opens. It does not return.
func Main(m *testing.M, n int, open func(ctx context.Context, address string) (gallery.Store, error)) {
	address := os.Getenv(pushVariable)
	if address == "" {
		os.Exit(m.Run())
	}
	s, err := open(context.Background(), address)
	if err == nil {
		_, err = s.Upsert(context.Background(), PushedRows(n))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Push is a process, to be started, of a test program with Main: it pushes to an address.
func Push(address string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), pushVariable+"="+address)
	return cmd
}

// PushedRows are what such a process pushes.
func PushedRows(n int) *gallery.Table { return Rows("killed", n, 5) }

// Servers are the two addresses, or more, with a space between them, that the environment
// variable named has. Without them the test is skipped, for the reason that missing gives, or
// fails if the variable required is set.
func Servers(t *testing.T, named, required, missing string) []string {
	t.Helper()
	list := strings.Fields(os.Getenv(named))
	if len(list) < 2 {
		if os.Getenv(required) != "" {
			t.Fatalf("no servers: %s must name two", named)
		}
		t.Skip("not tested: " + missing)
	}
	return list
}
