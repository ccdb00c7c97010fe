package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestWordsAreWhatTheyAreCalled compares every form of instruction with what the assembler
// of GNU binutils 2.40 makes of its name.
func TestWordsAreWhatTheyAreCalled(t *testing.T) {
	for _, c := range []struct {
		write func(k *kernel)
		code  uint32
		name  string
	}{
		{func(k *kernel) { k.op("fadd", 1, 18, 31) }, 0x4e3fd641, "fadd v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fsub", 1, 18, 31) }, 0x4ebfd641, "fsub v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fmul", 1, 18, 31) }, 0x6e3fde41, "fmul v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fdiv", 1, 18, 31) }, 0x6e3ffe41, "fdiv v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fmla", 1, 18, 31) }, 0x4e3fce41, "fmla v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fmls", 1, 18, 31) }, 0x4ebfce41, "fmls v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fmax", 1, 18, 31) }, 0x4e3ff641, "fmax v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fmin", 1, 18, 31) }, 0x4ebff641, "fmin v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fabd", 1, 18, 31) }, 0x6ebfd641, "fabd v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fcmeq", 1, 18, 31) }, 0x4e3fe641, "fcmeq v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fcmge", 1, 18, 31) }, 0x6e3fe641, "fcmge v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("fcmgt", 1, 18, 31) }, 0x6ebfe641, "fcmgt v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("frecps", 1, 18, 31) }, 0x4e3ffe41, "frecps v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("frsqrts", 1, 18, 31) }, 0x4ebffe41, "frsqrts v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("faddp", 1, 18, 31) }, 0x6e3fd641, "faddp v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("add", 1, 18, 31) }, 0x4ebf8641, "add v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("sub", 1, 18, 31) }, 0x6ebf8641, "sub v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("umax", 1, 18, 31) }, 0x6ebf6641, "umax v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("trn1", 1, 18, 31) }, 0x4e9f2a41, "trn1 v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("trn2", 1, 18, 31) }, 0x4e9f6a41, "trn2 v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("zip1", 1, 18, 31) }, 0x4e9f3a41, "zip1 v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("zip2", 1, 18, 31) }, 0x4e9f7a41, "zip2 v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("uzp1", 1, 18, 31) }, 0x4e9f1a41, "uzp1 v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op("uzp2", 1, 18, 31) }, 0x4e9f5a41, "uzp2 v1.4s, v18.4s, v31.4s"},
		{func(k *kernel) { k.op64("fadd", 2, 17, 30) }, 0x4e7ed622, "fadd v2.2d, v17.2d, v30.2d"},
		{func(k *kernel) { k.op64("fsub", 2, 17, 30) }, 0x4efed622, "fsub v2.2d, v17.2d, v30.2d"},
		{func(k *kernel) { k.op64("fmla", 2, 17, 30) }, 0x4e7ece22, "fmla v2.2d, v17.2d, v30.2d"},
		{func(k *kernel) { k.op64("trn1", 2, 17, 30) }, 0x4ede2a22, "trn1 v2.2d, v17.2d, v30.2d"},
		{func(k *kernel) { k.op64("trn2", 2, 17, 30) }, 0x4ede6a22, "trn2 v2.2d, v17.2d, v30.2d"},
		{func(k *kernel) { k.logic("and", 3, 16, 29) }, 0x4e3d1e03, "and v3.16b, v16.16b, v29.16b"},
		{func(k *kernel) { k.logic("bic", 3, 16, 29) }, 0x4e7d1e03, "bic v3.16b, v16.16b, v29.16b"},
		{func(k *kernel) { k.logic("orr", 3, 16, 29) }, 0x4ebd1e03, "orr v3.16b, v16.16b, v29.16b"},
		{func(k *kernel) { k.logic("bit", 3, 16, 29) }, 0x6ebd1e03, "bit v3.16b, v16.16b, v29.16b"},
		{func(k *kernel) { k.logic("bsl", 3, 16, 29) }, 0x6e7d1e03, "bsl v3.16b, v16.16b, v29.16b"},
		{func(k *kernel) { k.copy(3, 16) }, 0x4eb01e03, "mov v3.16b, v16.16b"},
		{func(k *kernel) { k.unary("fabs", 4, 21) }, 0x4ea0faa4, "fabs v4.4s, v21.4s"},
		{func(k *kernel) { k.unary("fsqrt", 4, 21) }, 0x6ea1faa4, "fsqrt v4.4s, v21.4s"},
		{func(k *kernel) { k.unary("frecpe", 4, 21) }, 0x4ea1daa4, "frecpe v4.4s, v21.4s"},
		{func(k *kernel) { k.unary("frsqrte", 4, 21) }, 0x6ea1daa4, "frsqrte v4.4s, v21.4s"},
		{func(k *kernel) { k.by("fmla", 5, 22, lane{19, 0}) }, 0x4f9312c5, "fmla v5.4s, v22.4s, v19.s[0]"},
		{func(k *kernel) { k.by("fmla", 5, 22, lane{31, 1}) }, 0x4fbf12c5, "fmla v5.4s, v22.4s, v31.s[1]"},
		{func(k *kernel) { k.by("fmls", 5, 22, lane{19, 2}) }, 0x4f935ac5, "fmls v5.4s, v22.4s, v19.s[2]"},
		{func(k *kernel) { k.by("fmul", 5, 22, lane{31, 3}) }, 0x4fbf9ac5, "fmul v5.4s, v22.4s, v31.s[3]"},
		{func(k *kernel) { k.clear(6) }, 0x4f000406, "movi v6.4s, #0x0"},
		{func(k *kernel) { k.dup(7, lane{23, 2}) }, 0x4e1406e7, "dup v7.4s, v23.s[2]"},
		{func(k *kernel) { k.first(7, lane{23, 3}) }, 0x5e1c06e7, "mov s7, v23.s[3]"},
		{func(k *kernel) { k.load(8, 24, 0) }, 0x3dc00308, "ldr q8, [x24]"},
		{func(k *kernel) { k.load(8, 24, 65520) }, 0x3dffff08, "ldr q8, [x24, #65520]"},
		{func(k *kernel) { k.store(8, 24, 48) }, 0x3d800f08, "str q8, [x24, #48]"},
		{func(k *kernel) { k.load2(8, 24, 24) }, 0xfd400f08, "ldr d8, [x24, #24]"},
		{func(k *kernel) { k.load1(8, 24, 12) }, 0xbd400f08, "ldr s8, [x24, #12]"},
		{func(k *kernel) { k.store1(8, 24, 12) }, 0xbd000f08, "str s8, [x24, #12]"},
		{func(k *kernel) { k.loadPair(9, 25, 15, 32) }, 0xad4165e9, "ldp q9, q25, [x15, #32]"},
		{func(k *kernel) { k.loadPair(9, 25, 15, -1024) }, 0xad6065e9, "ldp q9, q25, [x15, #-1024]"},
		{func(k *kernel) { k.storePair(9, 25, 15, 1008) }, 0xad1fe5e9, "stp q9, q25, [x15, #1008]"},
		{func(k *kernel) { k.loadFrom(10, 14, 26) }, 0x3cfa69ca, "ldr q10, [x14, x26]"},
		{func(k *kernel) { k.storeTo(10, 14, 26) }, 0x3cba69ca, "str q10, [x14, x26]"},
		{func(k *kernel) { k.load1From(10, 14, 26) }, 0xbc7a69ca, "ldr s10, [x14, x26]"},
		{func(k *kernel) { k.loadLane(lane{11, 0}, 13) }, 0x0d4081ab, "ld1 {v11.s}[0], [x13]"},
		{func(k *kernel) { k.loadLane(lane{11, 3}, 13) }, 0x4d4091ab, "ld1 {v11.s}[3], [x13]"},
		{func(k *kernel) { k.loadEach(12, 20) }, 0x4d40ca8c, "ld1r {v12.4s}, [x20]"},
		{func(k *kernel) { k.unary("fneg", 4, 21) }, 0x6ea0faa4, "fneg v4.4s, v21.4s"},
		{func(k *kernel) { k.shiftLeft(5, 22, 23) }, 0x4f3756c5, "shl v5.4s, v22.4s, #23"},
		{func(k *kernel) { k.widen(6, 23, 0) }, 0x0e617ae6, "fcvtl v6.2d, v23.2s"},
		{func(k *kernel) { k.widen(6, 23, 1) }, 0x4e617ae6, "fcvtl2 v6.2d, v23.4s"},
		{func(k *kernel) { k.total64(24) }, 0x7e70db18, "faddp d24, v24.2d"},
		{func(k *kernel) { k.largestOf(7, 25) }, 0x6e30fb27, "fmaxv s7, v25.4s"},
		{func(k *kernel) { k.largestBits(7, 25) }, 0x6eb0ab27, "umaxv s7, v25.4s"},
		{func(k *kernel) { k.totalBits(7, 25) }, 0x4eb1bb27, "addv s7, v25.4s"},
		{func(k *kernel) { k.toReg(8, lane{26, 2}) }, 0x0e143f48, "mov w8, v26.s[2]"},
		{func(k *kernel) { k.first64(9, 27) }, 0x5e080769, "mov d9, v27.d[0]"},
	} {
		k := newKernel(nil, nil)
		c.write(k)
		if got, want := strings.Join(k.lines, "\n"), fmt.Sprintf("\tWORD $%#08x // %s", c.code, c.name); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestFilesAreUpToDate compares the files of package cpu with what the generator writes.
func TestFilesAreUpToDate(t *testing.T) {
	code, stubs := all()
	for name, want := range map[string]string{"neon_arm64.s": code, "neon_stubs_arm64.go": stubs} {
		got, err := os.ReadFile(filepath.Join("..", "..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("cpu/%s is not what the generator writes: run go generate ./cpu", name)
		}
	}
}

// TestDisassembly compares every word with its name where a disassembler is installed
// (Debian: binutils-aarch64-linux-gnu).
func TestDisassembly(t *testing.T) {
	objdump, err := exec.LookPath("aarch64-linux-gnu-objdump")
	if err != nil {
		t.Skip("no aarch64-linux-gnu-objdump here")
	}
	code, _ := all()
	var bytes []byte
	var names []string
	for _, m := range regexp.MustCompile(`WORD \$(\S+) // (.*)`).FindAllStringSubmatch(code, -1) {
		word, err := strconv.ParseUint(m[1], 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		bytes, names = append(bytes, byte(word), byte(word>>8), byte(word>>16), byte(word>>24)), append(names, m[2])
	}
	path := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(path, bytes, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(objdump, "-D", "-b", "binary", "-m", "aarch64", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^ *[0-9a-f]+:\t[0-9a-f]{8} \t([^/\n]*)`).FindAllStringSubmatch(string(out), -1)
	if len(lines) != len(names) {
		t.Fatalf("%d instructions, want %d", len(lines), len(names))
	}
	for i, m := range lines {
		if got := strings.Join(strings.Fields(m[1]), " "); got != names[i] {
			t.Errorf("word %d is %s, not %s", i, got, names[i])
		}
	}
}
