// Package download fetches files from public addresses, verifies their checksums, and
// continues where a transfer was broken off.
package download
