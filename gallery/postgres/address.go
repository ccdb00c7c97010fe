package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// DefaultTable is the table of an address that names none.
const DefaultTable = "vernier"

// IsAddress reports whether text is the address of a database and no file.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// address is where a gallery lies.
type address struct {
	config *pgxpool.Config
	table  string
	shown  string // without what is secret
}

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,47}$`)

// parseAddress reads postgres://USER@HOST:PORT/DATABASE?table=TABLE&..., with the other
// parameters of libpq's connection strings. It refuses passwords: other users of a
// machine can read the arguments of its programs.
func parseAddress(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) { // it repeats the address
			err = bad.Err
		}
		return address{}, fmt.Errorf("an address of PostgreSQL cannot be read: %w; want postgres://USER@HOST:PORT/DATABASE?table=TABLE", err)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return address{}, errors.New("an address of PostgreSQL cannot be read: what is behind its ? is to be NAME=VALUE&NAME=VALUE")
	}
	if _, secret := u.User.Password(); secret || query.Has("password") {
		return address{}, errors.New("an address of PostgreSQL holds a password, which other users of this machine could see: leave it out, and set PGPASSWORD, or PGPASSFILE to a file with HOST:PORT:DATABASE:USER:PASSWORD")
	}
	a := address{table: DefaultTable}
	if query.Has("table") {
		a.table = query.Get("table")
		query.Del("table")
	}
	if !tableName.MatchString(a.table) {
		return address{}, fmt.Errorf("table %q of an address: want letters, digits and _, at most 48 of them", a.table)
	}
	u.RawQuery = query.Encode()
	if a.config, err = pgxpool.ParseConfig(u.String()); err != nil {
		return address{}, fmt.Errorf("an address of PostgreSQL cannot be read: %w", err)
	}
	c := a.config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 15 * time.Second
	}
	// The server notices that a client was killed while it builds an index.
	if _, set := c.RuntimeParams["client_connection_check_interval"]; !set {
		c.RuntimeParams["client_connection_check_interval"] = "5s"
	}
	if _, set := c.RuntimeParams["application_name"]; !set {
		c.RuntimeParams["application_name"] = "vernier"
	}
	a.shown = fmt.Sprintf("table %s of database %s at %s:%d", a.table, c.Database, c.Host, c.Port)
	return a, nil
}
