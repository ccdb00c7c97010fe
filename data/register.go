package data

import (
	"fmt"

	"github.com/vernier-ml/vernier/internal/registry"
)

// ownKinds holds the kinds of data sets of a program's own.
var ownKinds registry.Table[func(path string, o Options) (*Set, error)]

// Register makes a kind of data sets of a program's own known: Open then takes the
// specifications "kind" and "kind:PATH", and calls open with PATH, or "", and its own
// options; open most likely ends with NewSet. A program that resumes a run
// registers the kind again before it does so.
//
// Names have lower-case letters, digits and hyphens. Register panics where the name is
// malformed or taken, or open is nil.
func Register(kind string, open func(path string, o Options) (*Set, error)) {
	if open == nil {
		panic(fmt.Sprintf("data.Register: the function that opens %q is nil", kind))
	}
	var own []string
	for _, k := range openers() {
		own = append(own, k.Kind)
	}
	ownKinds.Add("data.Register", kind, open, own)
}
