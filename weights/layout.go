package weights

import (
	"fmt"
	"slices"
	"strings"
)

// Layout says how the tensors of one program's files become those of networks here, whose
// names are those of another program.
type Layout struct {
	// Name says whose files they are, for messages.
	Name string
	// Marks are patterns of names, each of which a file of this layout has.
	Marks []string
	// Rows are tried in order for each name, and take it behind any prefix that ends at a dot
	// or a slash, which stays: "module.class_token" becomes "module.cls_token". What no row
	// takes keeps its name.
	Rows []Rename
}

// Rename is a row of a Layout. In From a "#" stands for a number and a "*" at the end for
// any text, both of which To repeats, and a "%" for a number that it leaves out.
type Rename struct {
	From, To string // an empty To leaves the tensor out
	How      Change
}

// Change says what becomes of a renamed tensor's numbers.
type Change string

// The changes.
const (
	AsIs       Change = ""
	Leading    Change = "reshape"   // axes of length 1 come before its own, to three in all
	Transposed Change = "transpose" // of a matrix
	// Rows of one tensor that lie in three: queries, keys and values.
	Rows0 Change = "rows 0/3"
	Rows1 Change = "rows 1/3"
	Rows2 Change = "rows 2/3"
	// Refused says that a network with such a tensor is none of those here; To says why.
	Refused Change = "refused"
)

// LayoutOf returns the layout whose marks a file has, or nil.
func LayoutOf(f *File) *Layout {
	for _, l := range Layouts() {
		if l.marked(f) {
			return &l
		}
	}
	return nil
}

func (l *Layout) marked(f *File) bool {
	for _, mark := range l.Marks {
		found := false
		for i := range f.tensors {
			if _, _, ok := (Rename{From: mark}).of(f.tensors[i].Name); ok {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// of returns the new name, and what stands before it, if the row takes a name.
func (r Rename) of(name string) (prefix, to string, ok bool) {
	for at := 0; ; {
		if to, ok := r.match(name[at:]); ok {
			return name[:at], to, true
		}
		next := nextCut(name[at:])
		if next == 0 {
			return "", "", false
		}
		at += next
	}
}

// match compares a whole name with From.
func (r Rename) match(name string) (to string, ok bool) {
	to = r.To
	for from := r.From; ; {
		i := strings.IndexAny(from, "#%*")
		if i < 0 {
			return to, name == from
		}
		rest, ok := strings.CutPrefix(name, from[:i])
		if !ok {
			return "", false
		}
		if from[i] == '*' {
			return strings.Replace(to, "*", rest, 1), rest != ""
		}
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if n == 0 {
			return "", false
		}
		if from[i] == '#' {
			to = strings.Replace(to, "#", rest[:n], 1)
		}
		name, from = rest[n:], from[i+1:]
	}
}

// Rename returns what becomes of a name: what stands before the new one, the new one, which
// is empty where the tensor is left out, and what becomes of its numbers.
func (l *Layout) Rename(name string) (prefix, to string, how Change) {
	for _, r := range l.Rows {
		if prefix, to, ok := r.of(name); ok {
			return prefix, to, r.How
		}
	}
	return "", name, AsIs
}

// Arrange presents a file of this layout under the names and orders of networks here.
// Nothing is read or copied until a tensor is asked for. Closing f closes the result.
func (l *Layout) Arrange(f *File) (*File, error) {
	a := arranger{from: map[string]string{}, parts: map[string]*[3]Tensor{}, out: &File{
		path: f.path, size: f.size, format: f.format, index: map[string]int32{}, meta: f.meta, values: f.values, modules: f.modules,
	}}
	for i := range f.tensors {
		if err := l.arrange(&a, f.tensors[i]); err != nil {
			return nil, fmt.Errorf("weights: %s as a file of %s: %w", f.path, l.Name, err)
		}
	}
	for _, name := range a.order {
		if err := a.join(name); err != nil {
			return nil, fmt.Errorf("weights: %s as a file of %s: %w", f.path, l.Name, err)
		}
	}
	return a.out, nil
}

func (l *Layout) arrange(a *arranger, t Tensor) error {
	from := t.Name
	prefix, to, how := l.Rename(from)
	switch {
	case how == Refused:
		return fmt.Errorf("it has the tensor %q: %s", from, to)
	case to == "":
		return nil
	}
	t.Name = prefix + to
	return a.change(t, from, how)
}

// arranger collects the tensors of a new file.
type arranger struct {
	out   *File
	from  map[string]string     // what the file calls a tensor of the new file
	parts map[string]*[3]Tensor // queries, keys and values by their common name
	order []string              // of parts
}

// change adds a tensor that the file calls from, after a change.
func (a *arranger) change(t Tensor, from string, how Change) error {
	switch how {
	case Leading:
		for len(t.Shape) < 3 {
			t.Shape = append([]int{1}, t.Shape...)
		}
	case Transposed:
		if len(t.Shape) != 2 || t.DType.Bits() < 8 {
			return fmt.Errorf("%q is %v of shape %v, want a matrix of numbers of whole bytes", from, t.DType, t.Shape)
		}
		t.data, t.Shape = t.data.permuted(t.Shape, 1, 0)
	case Rows0, Rows1, Rows2:
		return a.part(t, from, int(how[len("rows ")]-'0'))
	}
	return a.add(t, from)
}

func (a *arranger) add(t Tensor, from string) error {
	if err := a.name(t.Name, from); err != nil {
		return err
	}
	a.out.index[t.Name] = int32(len(a.out.tensors))
	a.out.tensors = append(a.out.tensors, t)
	return nil
}

// name takes a name of the new file, which no other tensor may have.
func (a *arranger) name(name, from string) error {
	if other, taken := a.from[name]; taken {
		return fmt.Errorf("%q and %q are both called %q", other, from, name)
	}
	a.from[name] = from
	return nil
}

// part keeps a third of a tensor until all three are there.
func (a *arranger) part(t Tensor, from string, third int) error {
	if err := a.name(fmt.Sprintf("%s, rows %d/3", t.Name, third), from); err != nil {
		return err
	}
	all := a.parts[t.Name]
	if all == nil {
		all = &[3]Tensor{}
		a.parts[t.Name] = all
		a.order = append(a.order, t.Name)
	}
	all[third] = t
	return nil
}

// join adds the tensor of three parts.
func (a *arranger) join(name string) error {
	var from [3]string
	for i := range from {
		from[i] = a.from[fmt.Sprintf("%s, rows %d/3", name, i)]
		if from[i] == "" {
			return fmt.Errorf("the third of %q that holds its %s is missing", name, [3]string{"queries", "keys", "values"}[i])
		}
	}
	parts := a.parts[name]
	all := parts[0]
	all.Shape = slices.Clone(all.Shape)
	more := make([]view, 0, 2)
	for i, t := range parts[1:] {
		if len(all.Shape) == 0 || t.DType != all.DType || len(t.Shape) != len(all.Shape) || !slices.Equal(t.Shape[1:], all.Shape[1:]) {
			return fmt.Errorf("%q is %v %v and %q %v %v: they do not join", from[0], parts[0].DType, parts[0].Shape, from[i+1], t.DType, t.Shape)
		}
		all.Shape[0] += t.Shape[0]
		more = append(more, t.data)
	}
	all.more = &more
	return a.add(all, from[0])
}
