package gallery

// Filter lets rows through: those whose key, path and class are among the given ones. A list
// that is empty lets all through.
type Filter struct {
	Keys, Paths, Classes []string
}

// Empty reports whether a filter lets all rows through.
func (f Filter) Empty() bool { return len(f.Keys) == 0 && len(f.Paths) == 0 && len(f.Classes) == 0 }

// matcher is the filter as a function.
func (f Filter) matcher() func(key, path, class string) bool {
	keys, paths, classes := setOf(f.Keys), setOf(f.Paths), setOf(f.Classes)
	return func(key, path, class string) bool {
		return keys.lets(key) && paths.lets(path) && classes.lets(class)
	}
}

type textSet map[string]bool

func setOf(list []string) textSet {
	if len(list) == 0 {
		return nil
	}
	s := make(textSet, len(list))
	for _, v := range list {
		s[v] = true
	}
	return s
}

func (s textSet) lets(v string) bool { return s == nil || s[v] }
