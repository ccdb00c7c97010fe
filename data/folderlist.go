package data

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// list lists the folder and all folders below it. Links to folders are followed, each
// folder once. A folder that cannot be listed is left out.
func (s folderSource) list(task *work) (*listing, error) {
	w := folderWalk{root: s.root, seen: map[string]bool{}, task: task}
	w.readDir = w.readFolder
	if err := w.folder(""); err != nil {
		return nil, fmt.Errorf("listing %s: %w", s.root, bare(err))
	}
	// Links come last: a folder is listed under its own name rather than under that of a link.
	for len(w.links) > 0 {
		link := w.links[0]
		w.links = w.links[1:]
		w.enter(link, true)
	}
	if err := w.step(); err != nil { // and what is listed is not all
		return nil, err
	}
	task.end(listingFiles, len(w.files))
	return &w.listing, nil
}

const listingFiles = "listing files"

// folderWalk goes through a folder on disk.
type folderWalk struct {
	root    string
	readDir func(string) ([]os.DirEntry, error)
	seen    map[string]bool // folders, by their path without links
	links   []string        // to folders, that are still to be followed
	task    *work
	listing
}

func (w *folderWalk) step() error { return w.task.step(listingFiles, len(w.files), 0) }

// readFolder returns the entries of a folder in the order of their names, as os.ReadDir
// does, and ends with the context in a folder of many.
func (w *folderWalk) readFolder(dir string) ([]os.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const at = 1 << 10 // a time
	var entries []os.DirEntry
	for {
		some, err := f.ReadDir(at)
		entries = append(entries, some...)
		if stop := w.task.step(listingFiles, len(w.files)+len(entries), 0); stop != nil {
			return nil, stop
		}
		if err != nil {
			slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return entries, err
		}
	}
}

// enter lists a folder below the root, or notes why it cannot.
func (w *folderWalk) enter(rel string, link bool) {
	dir := filepath.Join(w.root, filepath.FromSlash(rel))
	if real, err := filepath.EvalSymlinks(dir); err == nil && link && w.seen[real] {
		w.linked = append(w.linked, rel)
		return
	}
	if err := w.folder(rel); err != nil {
		w.closed = append(w.closed, fmt.Sprintf("%s (%v)", rel, bare(err)))
	}
}

func (w *folderWalk) folder(rel string) error {
	dir := filepath.Join(w.root, filepath.FromSlash(rel))
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if w.seen[real] {
		return nil
	}
	w.seen[real] = true
	if err := w.step(); err != nil {
		return err
	}
	entries, err := w.readDir(dir)
	for _, e := range entries {
		w.entry(path.Join(rel, e.Name()), e)
	}
	return err
}

func (w *folderWalk) entry(name string, e os.DirEntry) {
	if isJunk(name) {
		return
	}
	if e.Type()&fs.ModeSymlink == 0 {
		switch {
		case !e.IsDir():
			w.files = append(w.files, name)
		case strings.HasPrefix(e.Name(), "."): // nothing in it is wanted, however much it is
			w.hidden = append(w.hidden, name)
		default:
			w.enter(name, false)
		}
		return
	}
	switch info, err := os.Stat(filepath.Join(w.root, filepath.FromSlash(name))); {
	case err != nil:
		w.dead = append(w.dead, name)
	case info.IsDir() && strings.HasPrefix(e.Name(), "."):
		w.hidden = append(w.hidden, name)
	case info.IsDir():
		w.links = append(w.links, name)
	default:
		w.files = append(w.files, name)
	}
}
