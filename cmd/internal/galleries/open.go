package galleries

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/gallery/postgres"
	"github.com/vernier-ml/vernier/gallery/weaviate"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// AddressHelp says what an address is, for the help of flags.
const AddressHelp = "FILE, postgres://USER@HOST:PORT/DATABASE?table=NAME, or weaviate://HOST:PORT?collection=NAME"

// Options are for Open.
type Options struct {
	Engine   eval.Engine      // that searches files; nil for one of its own
	Postgres postgres.Options // of tables
	Weaviate weaviate.Options // of collections
}

// Open opens the gallery at an address, or at several, over which its rows are spread. info
// says whose rows they are; zero is whosever are there.
func Open(ctx context.Context, addresses []string, info gallery.Info, opt Options) (gallery.Store, error) {
	if len(distinct(addresses)) < len(addresses) {
		return nil, cli.Usagef("an address of the gallery is given twice")
	}
	var stores []gallery.Store
	fail := func(err error) (gallery.Store, error) {
		for _, s := range stores {
			s.Close()
		}
		return nil, err
	}
	for _, address := range addresses {
		s, err := openOne(ctx, address, info, opt)
		if err != nil {
			return fail(err)
		}
		stores = append(stores, s)
	}
	s, err := gallery.Shards(stores...)
	if err != nil {
		return fail(err)
	}
	return s, nil
}

// IsAddress reports whether text is the address of a database and not a file.
func IsAddress(text string) bool { return strings.Contains(text, "://") }

// Title names galleries for those who search them: without folders, users and hosts.
func Title(addresses []string) string {
	names := make([]string, len(addresses))
	for i, address := range addresses {
		names[i] = nametext.WithoutFolders(address)
		if IsAddress(address) {
			names[i] = "a database"
			if u, err := url.Parse(address); err == nil {
				names[i] = cmp.Or(u.Query().Get("table"), u.Query().Get("collection"), names[i])
			}
		}
	}
	return strings.Join(distinct(names), ", ")
}

func openOne(ctx context.Context, address string, info gallery.Info, opt Options) (gallery.Store, error) {
	if postgres.IsAddress(address) {
		return postgres.Open(ctx, address, info, opt.Postgres)
	}
	if weaviate.IsAddress(address) {
		return weaviate.Open(ctx, address, info, opt.Weaviate)
	}
	if kind, _, is := strings.Cut(address, "://"); is {
		return nil, cli.Usagef("a gallery at %s://: want %s", kind, AddressHelp)
	}
	s, err := gallery.OpenFile(address, info, opt.Engine)
	if err != nil {
		return nil, fmt.Errorf("the gallery: %w", err)
	}
	return s, nil
}
