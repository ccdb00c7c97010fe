package nametext

import "strings"

// WithoutFolders returns text in which an absolute path, alone or after "kind:", is
// its last element: for pages that are handed on, and are not to say where things lie
// on the machine they were made on.
func WithoutFolders(text string) string {
	kind, path := "", text
	if before, after, ok := strings.Cut(text, ":"); ok && isAbsolute(after) && !isAbsolute(text) {
		kind, path = before+":", after
	}
	if !isAbsolute(path) {
		return text
	}
	path = strings.TrimRight(path, `/\`)
	return kind + path[strings.LastIndexAny(path, `/\`)+1:]
}

// isAbsolute knows the paths of every system, since a page may be made from a run of
// another one.
func isAbsolute(path string) bool {
	if strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) {
		return true
	}
	return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') && (path[0]|32 >= 'a' && path[0]|32 <= 'z')
}
