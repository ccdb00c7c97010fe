// Package sums keeps the checksums of files beside them, as sha256sum writes and checks
// them: a line HASH  NAME for each, in SHA256SUMS for a folder, in NAME.sha256 for a single
// file and what belongs to it.
package sums

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// FolderFile holds the checksums of a folder.
const FolderFile = "SHA256SUMS"

// Beside is the file that holds the checksum of a single file.
func Beside(path string) string { return path + ".sha256" }

// Sums are the checksums of files of one folder.
type Sums struct {
	file string            // that holds them
	of   map[string]string // by name, in lower case
}

// Read reads a file of checksums. Without one there are none.
func Read(file string) (Sums, error) {
	s := Sums{file, map[string]string{}}
	f, err := wholefile.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line, escaped := strings.CutPrefix(lines.Text(), `\`)
		sum, name, ok := strings.Cut(line, " ")
		if _, err := hex.DecodeString(sum); !ok || err != nil || len(sum) != 2*sha256.Size || len(name) < 2 {
			return s, fmt.Errorf("%s, line %d: want a SHA-256 in hexadecimal, two blanks and the name of a file", file, n)
		}
		if name = name[1:]; escaped { // behind the blank, or * of a binary file
			name = unescape.Replace(name)
		}
		s.of[strings.TrimPrefix(name, "./")] = strings.ToLower(sum)
	}
	if err := lines.Err(); err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// A line begins with a backslash if the name in it is escaped.
var (
	escape   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)
	unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r")
)

// Names lists the files that have a checksum, ascending. In a file that others wrote some
// may lie in other folders.
func (s Sums) Names() []string { return slices.Sorted(maps.Keys(s.of)) }

// Check compares a file of the folder with its checksum: it is an error that it differs or
// is missing. A file that has none is taken as it is.
func (s Sums) Check(name string) error {
	want, ok := s.of[name]
	if !ok {
		return nil
	}
	sum, err := wholefile.Digest(filepath.Join(filepath.Dir(s.file), name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is missing, and %s beside it has its checksum: copy it again, or remove its line there", name, filepath.Base(s.file))
	case err == nil && sum != want:
		return fmt.Errorf("%s is not what %s beside it says: it is damaged, or was changed (then remove its line there)", name, filepath.Base(s.file))
	}
	return err
}

// Check compares a single file with the checksum beside it, if there is one.
func Check(path string) error {
	s, err := Read(Beside(path))
	if err != nil {
		return err
	}
	return s.Check(filepath.Base(path))
}

// WriteFolder writes the checksums of files of a folder to its FolderFile. Lines of other
// files that are there stay.
func WriteFolder(dir string, names []string) error {
	s, err := Read(filepath.Join(dir, FolderFile))
	if err != nil {
		return err
	}
	return s.write(names)
}

// Sign lets write make a file and what belongs to it, of whose names in the same folder it
// returns a list, and writes their checksums beside the file. In between the file has none.
func Sign(path string, write func() (names []string, err error)) error {
	if err := os.Remove(Beside(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, err := write()
	if err != nil {
		return err
	}
	return Sums{Beside(path), map[string]string{}}.write(names)
}

// write adds the checksums of files and writes all of them.
func (s Sums) write(names []string) (err error) {
	for _, name := range names {
		if s.of[name], err = wholefile.Digest(filepath.Join(filepath.Dir(s.file), name)); err != nil {
			return err
		}
	}
	return wholefile.Write(s.file, func(w io.Writer) error {
		for _, name := range s.Names() {
			line := s.of[name] + "  " + escape.Replace(name) + "\n"
			if strings.ContainsAny(name, "\\\n\r") {
				line = `\` + line
			}
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	})
}
