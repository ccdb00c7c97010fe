// Command gen reads the kernels' declarations in ../device and writes what
// follows from them: the table by which the host model calls them, their
// signatures in Go, the constants shared with the CPU engine, and, with clang 19
// on the path, the PTX.
//
// Every source file device/NAME.cu is a module, of all kernels in the headers that
// it includes, and becomes ptx/NAME.ptx. Only modules whose sources have changed
// are compiled. What is generated names the state of the sources for each module
// by itself, so that changes of different modules can be merged; after a merge
// that conflicts, take either side and generate again.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/cuda/kernels/digest"
	"github.com/vernier-ml/vernier/internal/approx"
)

// kernel is one declaration, after expansion over types or metrics.
type kernel struct {
	name    string
	threads string
	params  []string // C types
	syncs   bool     // it has barriers
}

// kinds tells a parameter's kind: p pointer, l int64, i int32, f float32, d float64.
func (k kernel) kinds() string {
	var b strings.Builder
	for _, p := range k.params {
		switch {
		case strings.Contains(p, "*"):
			b.WriteByte('p')
		case p == "long":
			b.WriteByte('l')
		case p == "int":
			b.WriteByte('i')
		case p == "float":
			b.WriteByte('f')
		case p == "double":
			b.WriteByte('d')
		default:
			log.Fatalf("%s: a parameter of type %q", k.name, p)
		}
	}
	return b.String()
}

var (
	declaration = regexp.MustCompile(`KERNEL\((?:NAME\((\w+)\)|(\w+)), (\d+)(?:, \d+)?\)\(([^)]*)\)`)
	barrier     = regexp.MustCompile(`SYNC\(|WARP\(|PART_OF\(|PRODUCTS\(|\bPAIR\b|block(Sum|Max)\(|wideSum\(|warpSum\(|\bmma\(|\btimes\(|rowLength\(`)
	macro       = regexp.MustCompile(`(?m)^#define (\w+_ARGS) (.*)$`)
	parameter   = regexp.MustCompile(`^((?:const )?(?:struct )?\w+ ?\**)(?:\s*)(\w+)$`)
)

// module is one source file.
type module struct {
	name    string
	sources string // the digest
	kernels []kernel
}

// modules reads all source files of a folder.
func modules(dir string) []module {
	sources, err := filepath.Glob(filepath.Join(dir, "*.cu"))
	if err != nil || len(sources) == 0 {
		log.Fatalf("%s has no source files (%v)", dir, err)
	}
	var list []module
	for _, path := range sources {
		root := filepath.Base(path)
		files, err := digest.Files(os.DirFS(dir), root)
		if err != nil {
			log.Fatal(err)
		}
		m := module{name: strings.TrimSuffix(root, ".cu")}
		if m.sources, err = digest.Of(os.DirFS(dir), root); err != nil {
			log.Fatal(err)
		}
		for _, f := range files {
			m.kernels = append(m.kernels, parse(dir, f, suffixes(m.name, files))...)
		}
		if len(m.kernels) == 0 {
			log.Fatalf("%s declares no kernel", path)
		}
		list = append(list, m)
	}
	return list
}

// suffixes are those of the names of a module's kernels: one for each storage type
// where typed.h is among its files, one for each metric of pairs.
func suffixes(module string, files []string) []string {
	switch {
	case module == "attention":
		return []string{"_f32", "_bf16", "_wide_f32", "_wide_bf16"}
	case slices.Contains(files, "typed.h"):
		return []string{"_f32", "_bf16"}
	case module != "pairs":
		return []string{""}
	}
	var out []string
	for _, p := range []string{"_p1", "_p2"} {
		for _, m := range []string{"_sigmoid", "_softsign", "_arctan", "_tanh", "_isru", "_linear"} {
			out = append(out, m+p)
		}
	}
	return out
}

// parse returns the kernels that a header declares.
func parse(dir, file string, suffixes []string) []kernel {
	src, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		log.Fatal(err)
	}
	text := string(src)
	for _, m := range macro.FindAllStringSubmatch(text, -1) {
		text = strings.ReplaceAll(text, ", "+m[1]+",", ", "+m[2]+",")
	}
	var out []kernel
	if file == "target.h" {
		return nil // it says what a declaration is
	}
	for _, body := range strings.SplitAfter(text, "KERNEL(")[1:] {
		m := declaration.FindStringSubmatch("KERNEL(" + body)
		if m == nil {
			log.Fatalf("%s: cannot read KERNEL(%.60s", file, body)
		}
		base := m[1] + m[2]
		for _, suffix := range suffixes {
			k := kernel{name: base + suffix, threads: m[3], syncs: barrier.MatchString(body)}
			for _, p := range strings.Split(m[4], ",") {
				q := parameter.FindStringSubmatch(strings.TrimSpace(p))
				if q == nil {
					log.Fatalf("%s: cannot read parameter %q of %s", file, p, base)
				}
				t := strings.ReplaceAll(q[1], " ", " ")
				t = regexp.MustCompile(`\bT\b`).ReplaceAllString(t, storage(suffix))
				k.params = append(k.params, strings.TrimSpace(t))
			}
			out = append(out, k)
		}
	}
	return out
}

func storage(suffix string) string {
	if strings.HasSuffix(suffix, "_bf16") {
		return "bf16"
	}
	return "float"
}

func main() {
	log.SetFlags(0)
	out := flag.String("out", ".", "folder of package kernels")
	ptx := flag.Bool("ptx", true, "compile the PTX with clang-19")
	flag.Parse()
	device := filepath.Join(*out, "device")
	write(filepath.Join(device, "approx.h"), constants())
	all := modules(device)
	write(filepath.Join(*out, "host", "table_gen.h"), table(all))
	code, err := format.Source(signatures(all))
	if err != nil {
		log.Fatal(err)
	}
	write(filepath.Join(*out, "signatures_gen.go"), code)
	if !*ptx {
		return
	}
	for _, m := range all {
		target := filepath.Join(*out, "ptx", m.name+".ptx")
		if old, err := os.ReadFile(target); err != nil || !bytes.HasPrefix(old, []byte(heading(m))) {
			compile(filepath.Join(device, m.name+".cu"), target, heading(m))
		}
	}
}

func write(path string, b []byte) {
	if err := os.WriteFile(path, b, 0o644); err != nil {
		log.Fatal(err)
	}
}

func constants() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "// Code generated by gen from internal/approx; DO NOT EDIT.")
	define := func(name string, v float32) { fmt.Fprintf(&b, "#define %s %.9ef\n", name, v) }
	define("LOG2E", approx.Log2E)
	define("LN2", approx.Ln2)
	for i, c := range approx.ArcTan() {
		define(fmt.Sprint("ATAN", i), c)
	}
	p, tail := approx.NormalTail()
	define("TAIL_P", p)
	for i, c := range tail {
		define(fmt.Sprint("TAIL", i), c)
	}
	define("FAR_NORMAL", approx.FarNormal)
	return b.Bytes()
}

// table also names the digests of the sources, since the go command does not see
// that the host model includes them.
func table(all []module) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "// Code generated by gen from ../device; DO NOT EDIT.")
	for _, m := range all {
		fmt.Fprintf(&b, "\n// Sources of %s: %s\n#include \"../device/%s.cu\"\n", m.name, m.sources, m.name)
		for _, k := range m.kernels {
			fmt.Fprintf(&b, "static void call_%s(void **a) { %s(", k.name, k.name)
			for i, p := range k.params {
				if i > 0 {
					fmt.Fprint(&b, ", ")
				}
				fmt.Fprintf(&b, "*(%s *)a[%d]", p, i)
			}
			fmt.Fprintln(&b, "); }")
		}
	}
	fmt.Fprintln(&b, "\nstatic const struct entry { const char *name; int syncs; void (*call)(void **); } entries[] = {")
	for _, m := range all {
		fmt.Fprintf(&b, "\t// %s\n", m.name)
		for _, k := range m.kernels {
			syncs := 0
			if k.syncs {
				syncs = 1
			}
			fmt.Fprintf(&b, "\t{\"%s\", %d, call_%s},\n", k.name, syncs, k.name)
		}
	}
	fmt.Fprintln(&b, "};")
	return b.Bytes()
}

func signatures(all []module) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "// Code generated by gen from device; DO NOT EDIT.\n\npackage kernels")
	fmt.Fprintln(&b, "\n// signatureOf returns the signature of a kernel.\nfunc signatureOf(name string) (Signature, bool) {\n\tswitch name {")
	for _, m := range all {
		fmt.Fprintf(&b, "// %s\n", m.name)
		for _, k := range m.kernels {
			fmt.Fprintf(&b, "case %q:\n\treturn Signature{%q, %s, %q}, true\n", k.name, k.kinds(), k.threads, m.name)
		}
	}
	fmt.Fprintln(&b, "}\nreturn Signature{}, false\n}")
	fmt.Fprintln(&b, "\n// Modules returns the names of all modules.\nfunc Modules() []string {\n\treturn []string{")
	for _, m := range all {
		fmt.Fprintf(&b, "%q,\n", m.name)
	}
	fmt.Fprintln(&b, "}\n}")
	fmt.Fprintln(&b, "\n// Names returns the names of a module's kernels.\nfunc Names(module string) []string {\n\tswitch module {")
	for _, m := range all {
		fmt.Fprintf(&b, "case %q:\n\treturn []string{\n", m.name)
		for _, k := range m.kernels {
			fmt.Fprintf(&b, "%q,\n", k.name)
		}
		fmt.Fprintln(&b, "}")
	}
	fmt.Fprintln(&b, "}\nreturn nil\n}")
	return b.Bytes()
}

// heading begins the PTX of a module.
func heading(m module) string {
	return fmt.Sprintf("// Code generated by gen from device; DO NOT EDIT.\n// Sources of %s: %s\n", m.name, m.sources)
}

func compile(source, to, heading string) {
	cmd := exec.Command("clang-19", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib",
		"--cuda-gpu-arch="+target(source), "--cuda-feature=+ptx70", "-O3", "-ffp-contract=fast", "-Wall", "-Wno-unused-function", "-Wno-unused-variable",
		"-fno-ident", "-S", "-o", to, source)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		log.Fatalf("clang-19: %v (-ptx=false leaves the PTX as it is)", err)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		log.Fatal(err)
	}
	write(to, plain(text, heading))
}

// target is the oldest GPU that can have a module: tensor cores multiply bfloat16 since
// compute capability 8.0.
func target(source string) string {
	if files, err := digest.Files(os.DirFS(filepath.Dir(source)), filepath.Base(source)); err == nil && slices.Contains(files, "fragments.h") {
		return "sm_80"
	}
	return "sm_70"
}

// plain leaves out comments and indentation, which are half of clang's PTX.
func plain(text []byte, heading string) []byte {
	var b bytes.Buffer
	b.WriteString(heading)
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "//")
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(strings.NewReplacer(" \t", " ", ", ", ",").Replace(line))
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
