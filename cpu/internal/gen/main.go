// Command gen writes the assembly kernels of cpu, one instruction set a
// run:
//
//	go run ./gen -isa avx512 -out avx512_amd64.s -stubs avx512_stubs_amd64.go -pkg cpu
package main

import (
	"flag"
	"log"

	"github.com/mmcloughlin/avo/build"
)

func main() {
	name := flag.String("isa", "", "avx512 or avx2")
	flag.Parse()
	k, ok := map[string]*isa{
		"avx512": {name: "AVX512", lanes: 16, wide: true, rows: 14},
		"avx2":   {name: "AVX2", lanes: 8, rows: 6},
	}[*name]
	if !ok {
		log.Fatalf("-isa %q, want avx512 or avx2", *name)
	}
	k.tiles()
	k.acrossTiles()
	if k.wide {
		k.narrow()
	}
	k.packing()
	k.vectors()
	k.pools()
	k.depthwise()
	k.winograd()
	k.sums()
	k.lines()
	k.classes()
	k.gelu()
	k.updates()
	k.pairs()
	k.finding()
	build.Generate()
}
