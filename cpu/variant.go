package cpu

import (
	"fmt"
	"slices"
	"strings"
)

// Variants lists the kernel variants that this machine can run, best first.
// "portable" is always there.
func Variants() []string {
	var names []string
	for _, k := range available() {
		names = append(names, k.name)
	}
	return names
}

// pickKernels returns the named kernels, the best ones if name is empty.
func pickKernels(name string) (*kernels, error) {
	all := available()
	if name == "" {
		return all[0], nil
	}
	i := slices.IndexFunc(all, func(k *kernels) bool { return k.name == name })
	if i < 0 {
		what := "is not known"
		if slices.Contains([]string{"avx512", "avx2", "neon"}, name) {
			what = "cannot run on this machine"
		}
		return nil, fmt.Errorf("%q %s; possible here: %s", name, what, strings.Join(Variants(), ", "))
	}
	return all[i], nil
}
