package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestAddresses(t *testing.T) {
	a, err := parseAddress("postgres://me@db.example:5433/birds?table=robins&sslmode=disable")
	if err != nil || a.table != "robins" || a.config.ConnConfig.Host != "db.example" || a.config.ConnConfig.Port != 5433 || a.config.ConnConfig.Database != "birds" || a.config.ConnConfig.User != "me" {
		t.Errorf("%+v, %v", a, err)
	}
	if want := "table robins of database birds at db.example:5433"; a.shown != want {
		t.Errorf("%q, want %q", a.shown, want)
	}
	if a, err := parseAddress("postgres:///birds?host=/run/postgresql"); err != nil || a.table != DefaultTable || a.config.ConnConfig.Host != "/run/postgresql" {
		t.Errorf("%+v, %v", a, err)
	}
	for text, says := range map[string]string{
		"postgres://me:hidden@db/birds":          "set PGPASSWORD",
		"postgres://me@db/birds?password=hidden": "set PGPASSWORD",
		"postgres://me@db/birds?table=a;b":       "NAME=VALUE",
		"postgres://me@db/birds?table=a%22b":     "letters, digits and _",
		"postgres://me:hidden@db:port/birds":     "cannot be read",
		"postgres://me@db/birds?sslmode=never":   "cannot be read",
	} {
		if _, err := parseAddress(text); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What a server says is explained, without the rows that it quotes.
func TestServersErrorsAreExplained(t *testing.T) {
	at, err := parseAddress("postgres://me@db/birds")
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{at: at}
	for code, says := range map[string]string{
		notSupported: "does the server have pgvector", noPrivilege: "GRANT CREATE ON SCHEMA public TO me", tooManyConnected: "max_connections",
		diskFull: "nothing was changed", noDatabase: "createdb -h db -p 5432 birds", wrongPassword: "db:5432:birds:me:PASSWORD",
	} {
		err := s.explain(&pgconn.PgError{Code: code, Message: "no", Detail: "a row"})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "a row") || s.explain(err) != err {
			t.Errorf("%s: %v, want %q", code, err, says)
		}
	}
}

func TestReleasesOfPgvector(t *testing.T) {
	for version, old := range map[string]bool{"0.7.4": true, "0.8.0": false, "0.10.1": false, "1.0": false, "dev": false} {
		if tooOld(version) != old {
			t.Errorf("%s: %v", version, !old)
		}
	}
}
