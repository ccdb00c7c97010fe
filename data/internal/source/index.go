package source

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/plural"
)

var errNotInArchive = fmt.Errorf("not in the archive: %w", fs.ErrNotExist)

const (
	// maxEntryName bounds the names of an archive's entries: no system unpacks longer ones.
	maxEntryName = 4096
	// maxLinks is how many links are followed on the way to one file, as in Linux.
	maxLinks = 40
)

// index lists the entries of an archive by name, and follows the links among them
// as they would be followed if the archive were unpacked into an empty folder.
type index[E any] struct {
	files map[string]E
	// refused are entries that cannot be read in place, and why.
	refused map[string]error
	links   map[string]link
	again   map[string]bool // names of more than one entry
	long    int             // entries left out for their names
	Listing
}

// link is an entry that stands for another.
type link struct {
	target string
	// rooted says that the target is a path in the archive (a hard link), and not one seen from the
	// link's own folder (a symbolic link).
	rooted bool
}

func newIndex[E any]() *index[E] {
	return &index[E]{files: map[string]E{}, refused: map[string]error{}, links: map[string]link{}, again: map[string]bool{}}
}

// forget makes room for an entry: of several of one name the last counts.
func (a *index[E]) forget(name string) {
	_, file := a.files[name]
	_, refused := a.refused[name]
	_, link := a.links[name]
	if file || refused || link {
		a.again[name] = true
		delete(a.files, name)
		delete(a.refused, name)
		delete(a.links, name)
	}
}

func (a *index[E]) add(name string, e E) {
	a.forget(name)
	a.files[name] = e
}

func (a *index[E]) refuse(name string, why error) {
	a.forget(name)
	a.refused[name] = why
}

// symbolic notes a symbolic link.
func (a *index[E]) symbolic(name, target string) {
	a.forget(name)
	a.links[name] = link{target, false}
}

// hard notes a hard link, which as a rule is to an earlier file.
func (a *index[E]) hard(name, target string) {
	if e, ok := a.files[target]; ok {
		if name != target {
			a.add(name, e)
		}
		return
	}
	a.forget(name)
	a.links[name] = link{target, true}
}

// settle reads links as what they lead to, once all entries are noted.
func (a *index[E]) settle() {
	if len(a.links) > 0 {
		a.settleLinks()
	}
	a.repeated = slices.Collect(maps.Keys(a.again))
	a.Listing.Files = slices.Collect(maps.Keys(a.files))
	dead := map[string]bool{}
	for _, name := range a.dead {
		dead[name] = true
	}
	for name := range a.refused {
		if !dead[name] {
			a.Listing.Files = append(a.Listing.Files, name)
		}
	}
	if a.long > 0 {
		a.faults = append(a.faults, fmt.Sprintf("%s with names of more than %d bytes left out of the archive", plural.Of(a.long, "file"), maxEntryName))
	}
}

func (a *index[E]) settleLinks() {
	folders := a.folders()
	files, refused := map[string]E{}, map[string]error{}
	for name := range a.links {
		at, err := a.follow(name, folders)
		e, isFile := a.files[at]
		why, isRefused := a.refused[at]
		switch {
		case err == nil && isFile:
			files[name] = e
		case err == nil && isRefused:
			refused[name] = why
		case err == nil: // follow ends at nothing else
			a.linked = append(a.linked, name)
		default:
			refused[name] = err
			a.dead = append(a.dead, name)
		}
	}
	maps.Copy(a.files, files)
	maps.Copy(a.refused, refused)
}

// folders is the set of all folders that lie above entries.
func (a *index[E]) folders() map[string]bool {
	folders := map[string]bool{"": true}
	note := func(name string) {
		for dir := path.Dir(name); dir != "." && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	for name := range a.files {
		note(name)
	}
	for name := range a.refused {
		note(name)
	}
	for name := range a.links {
		note(name)
	}
	return folders
}

// follow finds the file, the refused entry or the folder that a path leads to.
func (a *index[E]) follow(name string, folders map[string]bool) (string, error) {
	rest, at, links := strings.Split(name, "/"), "", 0
	var last link
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch {
		case part == "" || part == ".":
			continue
		case part == ".." && at == "":
			return "", fmt.Errorf("a link to %s, which lies outside the archive", last.target)
		case part == "..":
			if at = path.Dir(at); at == "." {
				at = ""
			}
			continue
		}
		next := path.Join(at, part)
		link, is := a.links[next]
		if !is {
			if at = next; !a.has(at) && !folders[at] {
				return "", fmt.Errorf("a link to %s, which is not in the archive: %w", last.target, fs.ErrNotExist)
			}
			continue
		}
		last = link
		if links++; links > maxLinks {
			return "", errors.New("a link that leads back to itself")
		}
		if !link.rooted && path.IsAbs(link.target) {
			return "", fmt.Errorf("a link to %s, which lies outside the archive", link.target)
		}
		if link.rooted {
			at = ""
		}
		rest = slices.Concat(strings.Split(link.target, "/"), rest)
	}
	return at, nil
}

func (a *index[E]) has(name string) bool {
	_, file := a.files[name]
	_, refused := a.refused[name]
	return file || refused
}

// find returns the entry of a path, which may lead through links to folders.
func (a *index[E]) find(name string) (E, error) {
	e, ok := a.files[name]
	if ok {
		return e, nil
	}
	if why := a.refused[name]; why != nil {
		return e, why
	}
	if len(a.linked) > 0 {
		if at, err := a.follow(name, a.folders()); err == nil && at != name && a.has(at) {
			return a.find(at)
		}
	}
	return e, errNotInArchive
}

// name is EntryName for an entry of this archive.
func (a *index[E]) name(raw string) (string, bool) {
	if len(raw) > maxEntryName {
		a.long++
		return "", false
	}
	return EntryName(raw)
}

// EntryName brings an archive's name of a file into the form that List returns: without
// a leading slash, and without dots that would lead out of the archive;
// false for folders.
func EntryName(name string) (string, bool) {
	if strings.HasSuffix(name, "/") {
		return "", false
	}
	name = path.Clean("/" + name)[1:]
	return name, name != ""
}
