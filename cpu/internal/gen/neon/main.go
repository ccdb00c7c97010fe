// Command neon writes the assembly kernels of cpu for arm64:
//
//	go run ./internal/gen/neon -out neon_arm64.s -stubs neon_stubs_arm64.go
//
// Go's assembler lacks most vector instructions for floats, so they are written as the
// words that they encode to, each with its name in a comment; words.go has the encodings.
package main

import (
	"flag"
	"log"
	"os"
)

func main() {
	out := flag.String("out", "neon_arm64.s", "the assembly `file`")
	stubs := flag.String("stubs", "neon_stubs_arm64.go", "the `file` of Go declarations")
	flag.Parse()
	code, declarations := all()
	for path, text := range map[string]string{*out: code, *stubs: declarations} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			log.Fatal(err)
		}
	}
}

// all returns the assembly and the declarations of all kernels.
func all() (code, stubs string) {
	var w writer
	w.tiles()
	w.acrossTiles()
	w.rowsTiles()
	w.packing()
	w.vectors()
	w.pools()
	w.depthwise()
	w.winograd()
	w.reductions()
	w.rows()
	w.classes()
	w.gelu()
	w.updates()
	w.pairs()
	w.finding()
	return w.finish()
}
