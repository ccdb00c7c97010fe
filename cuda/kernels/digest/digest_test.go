package digest

import (
	"slices"
	"testing"
	"testing/fstest"
)

// A module is stale when a file that it includes has changed, and no other is.
func TestADigestIsOfAllThatAFileIncludes(t *testing.T) {
	dir := fstest.MapFS{
		"a.cu":      {Data: []byte("#include \"shared.h\"\n#define KERNELS \"a.h\"\n#include \"typed.h\"\n")},
		"b.cu":      {Data: []byte("#include \"shared.h\"\n#include \"b.h\"\n")},
		"a.h":       {Data: []byte("// of a\n")},
		"b.h":       {Data: []byte("#include <math.h>\n")},
		"shared.h":  {Data: []byte("#include \"deeper.h\"\n")},
		"deeper.h":  {Data: []byte("#include \"shared.h\"\n")},
		"typed.h":   {Data: []byte("#include KERNELS\n")},
		"another.h": {},
	}
	files, err := Files(dir, "a.cu")
	if want := []string{"a.cu", "a.h", "deeper.h", "shared.h", "typed.h"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("%v, %v, want %v", files, err, want)
	}
	of := func(root string) string {
		t.Helper()
		s, err := Of(dir, root)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := of("a.cu"), of("b.cu")
	dir["a.h"] = &fstest.MapFile{Data: []byte("// changed\n")}
	if of("a.cu") == a || of("b.cu") != b {
		t.Error("a change of a.h is not one of a.cu alone")
	}
	dir["deeper.h"] = &fstest.MapFile{}
	if of("b.cu") == b {
		t.Error("a change of deeper.h is none of b.cu")
	}
	delete(dir, "b.h")
	if _, err := Of(dir, "b.cu"); err == nil {
		t.Error("a header that is missing is not noticed")
	}
}
