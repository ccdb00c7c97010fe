package source

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/natural"
	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
)

// Listing is what a tree holds.
type Listing struct {
	// Files are the paths of all files, with forward slashes, in no order. Some may turn
	// out unreadable: pipes, what the user has no right to, entries of a kind that cannot
	// be read in place.
	Files []string
	// hidden are folders that were not looked into, since their names begin with a dot.
	hidden []string
	// dead are links that lead to nothing that could be read; they are not in Files.
	dead []string
	// linked are links to folders whose files are listed under another path.
	linked []string
	// closed says which folders could not be listed, and why.
	closed []string
	// empty are folders with nothing in them.
	empty []string
	// repeated are names that more than one entry of an archive has; the last counts.
	repeated []string
	// faults are signs that files may be missing.
	faults []string
}

// Entries are what a tree holds for a set of images. Every kind of set that looks for
// images, and does not read their names from a list, takes them from here.
type Entries struct {
	Images []string // in natural order
	others map[string]int
	// Notices say what was left out, Problems what may be missing.
	Notices, Problems []string
}

// ReadEntries lists a tree and sorts out which of its files are images of a set.
func ReadEntries(w *progress.Tracker, src Tree) (*Entries, error) {
	l, err := src.List(w)
	if err != nil {
		return nil, err
	}
	e := &Entries{others: map[string]int{}}
	hidden := hiddenEntries{folders: map[string]bool{}}
	other := slices.Clone(l.empty) // folders in which something but an image is, or nothing
	for _, f := range l.hidden {
		hidden.folders[f] = true
	}
	for _, f := range l.Files {
		switch {
		case IsJunk(f), hidden.take(f):
		case isImageName(f):
			e.Images = append(e.Images, f)
		default:
			e.others[strings.ToLower(path.Ext(f))]++
			other = append(other, path.Dir(f))
		}
	}
	var dead []string
	for _, f := range l.dead {
		switch {
		case IsJunk(f), hidden.take(f):
		case isImageName(f): // reading it will say what is wrong
			e.Images = append(e.Images, f)
		default:
			dead = append(dead, f)
		}
	}
	slices.SortFunc(e.Images, natural.Compare)
	e.Problems = append(e.Problems, l.faults...)
	if n := len(l.closed); n > 0 {
		e.Problems = append(e.Problems, fmt.Sprintf("%s cannot be listed, and all images in it are missing: %s", plural.Of(n, "folder"), nametext.Few(l.closed)))
	}
	if n := len(dead); n > 0 {
		e.Problems = append(e.Problems, fmt.Sprintf("%s to nothing that can be read left out: %s", plural.Of(n, "link"), nametext.Few(natural.Sorted(dead))))
	}
	if text := hidden.text(); text != "" {
		e.Notices = append(e.Notices, text)
	}
	if n := len(l.linked); n > 0 {
		e.Notices = append(e.Notices, fmt.Sprintf("%s to folders that are read under another name left out: %s", plural.Of(n, "link"), nametext.Few(natural.Sorted(l.linked))))
	}
	if n := len(l.repeated); n > 0 {
		e.Notices = append(e.Notices, fmt.Sprintf("%s in the archive more than once, of which the last is read: %s", plural.Of(n, "name"), nametext.Few(natural.Sorted(l.repeated))))
	}
	if list := imageless(e.Images, other); len(list) > 0 {
		e.Notices = append(e.Notices, fmt.Sprintf("%s beside those of classes without an image that is read: %s", plural.Of(len(list), "folder"), nametext.Few(list)))
	}
	e.Notices = append(e.Notices, otherFiles(e.others)...)
	return e, nil
}

// imageless lists those of the folders, and of the folders above them, that hold no image
// at any depth and stand beside ones that do: classes, by all that one can tell, which
// would be missing without a word.
func imageless(images, folders []string) []string {
	holds, parents := map[string]bool{".": true}, map[string]bool{}
	for _, f := range images {
		for dir := path.Dir(f); !holds[dir] && dir != "/"; dir = path.Dir(dir) {
			holds[dir] = true
			parents[path.Dir(dir)] = true
		}
	}
	without := map[string]bool{}
	for _, dir := range folders {
		for ; dir != "." && dir != "/"; dir = path.Dir(dir) {
			if !holds[dir] && parents[path.Dir(dir)] {
				without[dir] = true
			}
		}
	}
	return natural.Sorted(slices.Collect(maps.Keys(without)))
}

// NoImages says that there are no images, and what there is instead.
func (e *Entries) NoImages() string {
	text := "no images in it" + listOthers(e.others)
	if kinds := unreadFormats(e.others); len(kinds) > 0 {
		text += "; pictures of these formats are not read: convert them to JPEG or PNG"
	}
	for _, more := range slices.Concat(e.Problems, e.Notices) {
		if !strings.HasPrefix(more, otherFilesText) && !strings.HasPrefix(more, unreadText) {
			text += "; " + more
		}
	}
	return text
}

// hiddenEntries counts what is left out because its name, or that of a folder above it,
// begins with a dot: copies that programs keep for themselves.
type hiddenEntries struct {
	folders map[string]bool
	files   []string
}

// take counts a file if it is hidden. A folder counts once, whatever is in it.
func (h *hiddenEntries) take(file string) bool {
	at := 0
	if !strings.HasPrefix(file, ".") {
		if at = strings.Index(file, "/.") + 1; at == 0 {
			return false
		}
	}
	if end := strings.IndexByte(file[at:], '/'); end >= 0 {
		h.folders[file[:at+end]] = true
	} else {
		h.files = append(h.files, file)
	}
	return true
}

func (h *hiddenEntries) text() string {
	var counts, names []string
	if n := len(h.folders); n > 0 {
		counts = append(counts, plural.Of(n, "folder"))
	}
	if n := len(h.files); n > 0 {
		counts = append(counts, plural.Of(n, "file"))
	}
	if counts == nil {
		return ""
	}
	for f := range h.folders {
		names = append(names, f)
	}
	return fmt.Sprintf("%s left out because a name that begins with a dot is hidden: %s", strings.Join(counts, " and "), nametext.Few(natural.Sorted(append(names, h.files...))))
}

const (
	otherFilesText = "files left out because their names are not those of images"
	unreadText     = "pictures left out because their format is not read"
)

// otherFiles says what was left out for its name's ending.
func otherFiles(counts map[string]int) []string {
	unread := unreadFormats(counts)
	rest := map[string]int{}
	for ext, n := range counts {
		if unread[ext] == 0 {
			rest[ext] = n
		}
	}
	var texts []string
	if len(unread) > 0 {
		texts = append(texts, unreadText+listOthers(unread)+": convert them to JPEG or PNG")
	}
	if len(rest) > 0 {
		texts = append(texts, otherFilesText+listOthers(rest))
	}
	return texts
}

// unreadFormats picks the endings of pictures that no decoder here reads.
func unreadFormats(counts map[string]int) map[string]int {
	found := map[string]int{}
	for ext, n := range counts {
		if isImageName("x" + ext) {
			continue
		}
		switch ext {
		case ".heic", ".heif", ".hif", ".avif", ".jxl", ".jp2", ".j2k", ".jpx", ".svg", ".svgz", ".psd", ".ico", ".tga", ".exr", ".hdr", ".pcx",
			".ppm", ".pgm", ".pbm", ".pnm", ".pam", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".raf", ".rw2", ".orf":
			found[ext] = n
		}
	}
	return found
}

// listOthers writes counts of extensions: " (3 .txt, 1 without extension)".
func listOthers(counts map[string]int) string {
	if len(counts) == 0 {
		return ""
	}
	var words []string
	for ext, n := range counts {
		if ext == "" {
			ext = "without extension"
		}
		words = append(words, fmt.Sprintf("%d %s", n, ext))
	}
	slices.SortFunc(words, natural.Compare)
	if len(words) > 6 {
		words = append(words[:6], "...")
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// isImageName says which files of a folder count as images, by extension. What they hold is found out when they are decoded.
func isImageName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".webp", ".bmp", ".dib", ".tif", ".tiff", ".pbm", ".pgm", ".ppm", ".pnm", ".pam":
		return true
	}
	return false
}

// IsJunk reports whether a file is one that operating systems leave behind.
func IsJunk(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case strings.HasPrefix(part, "._"), strings.EqualFold(part, ".DS_Store"), strings.EqualFold(part, "Thumbs.db"),
			strings.EqualFold(part, "desktop.ini"), part == "__MACOSX", part == "@eaDir", strings.EqualFold(part, "$RECYCLE.BIN"),
			part == "System Volume Information", part == "lost+found":
			return true
		}
	}
	return false
}
