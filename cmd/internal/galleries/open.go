package galleries

import (
	"context"
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/gallery/postgres"
)

// addressHelp says what an address is.
const addressHelp = "FILE, or postgres://USER@HOST:PORT/DATABASE?table=NAME"

// Open opens the gallery at an address, or at several, over which its rows are spread. info
// says whose rows they are; zero is whosever are there.
func Open(ctx context.Context, addresses []string, info gallery.Info, eng eval.Engine, opt postgres.Options) (gallery.Store, error) {
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
		s, err := openOne(ctx, address, info, eng, opt)
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

func openOne(ctx context.Context, address string, info gallery.Info, eng eval.Engine, opt postgres.Options) (gallery.Store, error) {
	if postgres.IsAddress(address) {
		return postgres.Open(ctx, address, info, opt)
	}
	if kind, _, is := strings.Cut(address, "://"); is {
		return nil, cli.Usagef("a gallery at %s://: want %s", kind, addressHelp)
	}
	s, err := gallery.OpenFile(address, info, eng)
	if err != nil {
		return nil, fmt.Errorf("the gallery %w", err)
	}
	return s, nil
}
