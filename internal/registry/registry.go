// Package registry keeps what a program registers under names of its own beside those
// that a package has.
package registry

import (
	"fmt"
	"slices"
	"sync"
)

// Table holds values by name. The zero value is empty. It may be used by several
// goroutines.
type Table[T any] struct {
	mu    sync.RWMutex
	names []string
	by    map[string]T
}

// Add puts a value into the table. It panics, since that is a mistake in the program,
// where the name cannot stand in settings or is taken, by an earlier call or in the
// list of the package's own names. call is the function that the user calls, for the
// message.
func (t *Table[T]) Add(call, name string, value T, own []string) {
	if !valid(name) {
		panic(fmt.Sprintf("%s: the name is %q; want letters a to z, digits and hyphens, and a letter first, as in \"log-ratio\"", call, name))
	}
	if slices.Contains(own, name) {
		panic(fmt.Sprintf("%s: %q is the name of a built-in one; choose another", call, name))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, taken := t.by[name]; taken {
		panic(fmt.Sprintf("%s: %q is registered already; a name is registered once, as at the beginning of main", call, name))
	}
	if t.by == nil {
		t.by = map[string]T{}
	}
	t.by[name], t.names = value, append(t.names, name)
}

// Get returns the value of that name.
func (t *Table[T]) Get(name string) (value T, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	value, ok = t.by[name]
	return value, ok
}

// Names lists the names in the order in which they were added.
func (t *Table[T]) Names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.names)
}

// Remove takes a name away, for tests.
func (t *Table[T]) Remove(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, name)
	t.names = slices.DeleteFunc(t.names, func(n string) bool { return n == name })
}

func valid(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}
