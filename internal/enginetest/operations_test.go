package enginetest

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// What tests of all operations do has to reach a new one, too.
func TestOperationsListEveryMethod(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var called []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "perations() []operation") {
			continue
		}
		for _, m := range regexp.MustCompile(`\be\.([A-Z]\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			called = append(called, m[1])
		}
	}
	noOperands := []string{"Arena", "Footprint", "Info", "Name", "New"}
	all := reflect.TypeFor[engine.Engine]()
	for i := range all.NumMethod() {
		if name := all.Method(i).Name; !slices.Contains(called, name) && !slices.Contains(noOperands, name) {
			t.Errorf("operations lists no call of %s", name)
		}
	}
}
