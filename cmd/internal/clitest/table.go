package clitest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Rows writes a table of n rows under a name, in a folder of its own: two classes that differ
// in column a of a to d, a column of colors, and the column kind with the class.
func Rows(t *testing.T, name string, n int, seed uint64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("a,b,c,d,color,kind\n")
	for i := range n {
		fmt.Fprintf(&b, "%.4f,%.4f,%.4f,7,%s,class %d\n", float64(i%2)+.15*r.NormFloat64(), 9*r.NormFloat64(), 9*r.NormFloat64(), []string{"red", "blue"}[r.IntN(2)], i%2)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
