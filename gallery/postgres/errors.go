package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vernier-ml/vernier/gallery/internal/advice"
)

// Codes of PostgreSQL's appendix A.
const (
	wrongPassword    = "28P01"
	notAuthorized    = "28000"
	noDatabase       = "3D000"
	noTable          = "42P01"
	noPrivilege      = "42501"
	notSupported     = "0A000"
	noFile           = "58P01"
	tooManyConnected = "53300"
	noFunction       = "42883"
	noType           = "42704"
	diskFull         = "53100"
	shutDown         = "57P01"
	crashed          = "57P02"
	starting         = "57P03"
)

// explain says of an error of the database what to do about it.
func (s *Store) explain(err error) error {
	if err == nil || advice.IsExplained(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && s.ended(err) {
		return err
	}
	c := s.at.config.ConnConfig
	hint, away := "", false
	var server *pgconn.PgError
	var connecting *pgconn.ConnectError
	switch {
	case errors.As(err, &server):
		switch server.Code {
		case wrongPassword, notAuthorized:
			hint = fmt.Sprintf("the server does not let user %s in: set PGPASSWORD, or PGPASSFILE to a file with the line %s:%d:%s:%s:PASSWORD that only you can read", c.User, c.Host, c.Port, c.Database, c.User)
		case noDatabase:
			hint = fmt.Sprintf("make it once: createdb -h %s -p %d %s", c.Host, c.Port, c.Database)
		case notSupported, noFile, noType, noFunction:
			hint = "does the server have pgvector 0.8 or later? Debian 13 has it as postgresql-17-pgvector"
		case noPrivilege:
			hint = fmt.Sprintf("user %s lacks a right. Somebody who has it does once: CREATE EXTENSION vector; GRANT CREATE ON SCHEMA public TO %s", c.User, c.User)
		case tooManyConnected:
			hint, away = "wait, raise max_connections of the server, or give the address pool_max_conns=2", true
		case shutDown, crashed, starting:
			hint, away = "wait until the server is up; nothing was changed, and the same command may be given again", true
		case diskFull:
			hint = "the disk of the server is full: nothing was changed"
		}
		// Message alone: the rest of the error may quote rows.
		err = fmt.Errorf("PostgreSQL says: %s (%s)", server.Message, server.Code)
	case errors.As(err, &connecting):
		hint, away = fmt.Sprintf("is a PostgreSQL server running at %s:%d, and may this machine connect to it?", c.Host, c.Port), true
	case pgconn.Timeout(err) || pgconn.SafeToRetry(err) || lost(err):
		hint, away = "the server went away; nothing was changed, and the same command may be given again", true
	}
	if away {
		err = advice.Unavailable(err)
	}
	if hint == "" {
		return advice.Explained(fmt.Errorf("%s: %w", s.at.shown, err))
	}
	return advice.Explained(fmt.Errorf("%s: %w; %s", s.at.shown, err, hint))
}

// lost reports whether a connection broke.
func lost(err error) bool {
	for _, is := range []error{pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// ended reports whether an error is of a caller's context and not of connecting.
func (s *Store) ended(err error) bool {
	var connecting *pgconn.ConnectError
	return !errors.As(err, &connecting)
}
