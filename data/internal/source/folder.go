package source

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

	"github.com/vernier-ml/vernier/data/internal/progress"
)

// Folder is a folder on disk.
type Folder struct{ Root string }

// Path is where a file of the folder lies. An absolute name stays as it is.
func (s Folder) Path(name string) string {
	if path.IsAbs(name) || filepath.IsAbs(filepath.FromSlash(name)) {
		return filepath.FromSlash(name)
	}
	return filepath.Join(s.Root, filepath.FromSlash(name))
}

// Name is Path.
func (s Folder) Name(file string) string { return s.Path(file) }

// Close does nothing.
func (s Folder) Close() error { return nil }

// Open opens a regular file. What a link leads to is said where it is not there.
func (s Folder) Open(name string) (io.ReadCloser, int64, error) {
	file := s.Path(name)
	// Looked at before it is opened: to open a pipe is to wait for who writes to it.
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		if target, e := os.Readlink(file); e == nil {
			return nil, 0, fmt.Errorf("a link to %s, which is not there: %w", target, fs.ErrNotExist)
		}
	}
	if err == nil && !info.Mode().IsRegular() {
		err = irregular(info.Mode())
	}
	if err != nil {
		return nil, 0, bare(err)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, bare(err)
	}
	return f, info.Size(), nil
}

// Stamp is the size and the time of the last change.
func (s Folder) Stamp(name string) (string, error) {
	info, err := os.Stat(s.Path(name))
	if err != nil {
		return "", bare(err)
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano()), nil
}

// List lists the folder and all folders below it. Links to folders are followed, each
// folder once. A folder that cannot be listed is left out.
func (s Folder) List(task *progress.Tracker) (*Listing, error) {
	w := folderWalk{root: s.Root, seen: map[string]bool{}, task: task}
	w.readDir = w.readFolder
	if err := w.folder(""); err != nil {
		return nil, fmt.Errorf("listing %s: %w", s.Root, bare(err))
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
	task.End(listingFiles, len(w.Files))
	return &w.Listing, nil
}

const listingFiles = "listing files"

// folderWalk goes through a folder on disk.
type folderWalk struct {
	root    string
	readDir func(string) ([]os.DirEntry, error)
	seen    map[string]bool // folders, by their path without links
	links   []string        // to folders, that are still to be followed
	task    *progress.Tracker
	Listing
}

func (w *folderWalk) step() error { return w.task.Step(listingFiles, len(w.Files), 0) }

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
		if stop := w.task.Step(listingFiles, len(w.Files)+len(entries), 0); stop != nil {
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
	if err == nil && len(entries) == 0 && rel != "" {
		w.empty = append(w.empty, rel)
	}
	for _, e := range entries {
		w.entry(path.Join(rel, e.Name()), e)
	}
	return err
}

func (w *folderWalk) entry(name string, e os.DirEntry) {
	if IsJunk(name) {
		return
	}
	if e.Type()&fs.ModeSymlink == 0 {
		switch {
		case !e.IsDir():
			w.Files = append(w.Files, name)
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
		w.Files = append(w.Files, name)
	}
}
