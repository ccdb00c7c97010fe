package abi

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// Where a linker exports all symbols of a program, those of the forwarding library
// would stand before the driver's own for every library that is loaded later.
func TestTheDriversFunctionsAreHiddenInTheProgram(t *testing.T) {
	for _, tool := range []string{"gcc", "readelf"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not there", tool)
		}
	}
	object := filepath.Join(t.TempDir(), "forward.o")
	if out, err := exec.Command("gcc", "-O2", "-fPIC", "-std=gnu99", "-c", "-o", object, "forward/forward.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("readelf", "-sW", object).Output()
	if err != nil {
		t.Fatal(err)
	}
	hidden := regexp.MustCompile(`GLOBAL +HIDDEN +\d+ (cu|vernier_slot_)\w+`).FindAll(out, -1)
	shown := regexp.MustCompile(`GLOBAL +DEFAULT +\d+ (?:cu|vernier_slot_)\w+`).FindAllString(string(out), -1)
	if len(hidden) < 200 || len(shown) > 0 {
		t.Errorf("%d symbols are hidden, want all; shown are %q", len(hidden), shown)
	}
}
