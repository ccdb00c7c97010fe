package weights

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

// goldenCase is what the family weights has beyond the common members.
type goldenCase struct {
	*golden.Case
	file, expect, reason string
	other                map[string]any
	outputs              map[string]struct {
		DType string `json:"dtype"`
		Hex   string `json:"bytes_hex"`
	}
}

func readGolden(t *testing.T, c *golden.Case) goldenCase {
	t.Helper()
	g := goldenCase{Case: c}
	for key, into := range map[string]any{"file": &g.file, "expect": &g.expect, "error_reason": &g.reason, "outputs": &g.outputs} {
		if raw := c.Raw[key]; raw != nil {
			if err := json.Unmarshal(raw, into); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
		}
	}
	if raw := c.Raw["other_values"]; raw != nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&g.other); err != nil {
			t.Fatal(err)
		}
	}
	g.file = filepath.Join(filepath.Dir(c.Path), g.file)
	return g
}

// allocated returns the bytes that fn allocates, live or not.
func allocated(fn func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// readEverything opens a file and reads every tensor both ways.
func readEverything(path string) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, x := range f.Tensors() {
		if _, err := x.Bytes(); err != nil {
			return err
		}
		if x.checkNumeric() != nil {
			continue
		}
		if _, err := x.Float32(); err != nil {
			return err
		}
	}
	return nil
}

func TestGoldenFiles(t *testing.T) {
	golden.Walk(t, "weights", func(t *testing.T, c *golden.Case) {
		g := readGolden(t, c)
		switch g.expect {
		case "ok":
			g.checkGood(t)
		case "error":
			g.checkBad(t)
		default:
			t.Fatalf("expect is %q", g.expect)
		}
	})
}

// fixedCost is what reading takes for files of any size: buffers, messages.
const fixedCost = 64 << 10

func (g goldenCase) checkBad(t *testing.T) {
	info, err := os.Stat(g.file)
	if err != nil {
		t.Fatal(err)
	}
	traces, _ := filepath.Glob("/tmp/*pwned*")
	used := allocated(func() { err = readEverything(g.file) })
	if err == nil {
		if !g.Params.Bool("optional", false) {
			t.Fatalf("was read without an error; wrong with it: %s", g.reason)
		}
		return
	}
	t.Logf("%v\n(%s)", err, g.reason)
	if !strings.Contains(err.Error(), g.file) && !strings.Contains(err.Error(), "tensor") {
		t.Errorf("the message names neither file nor tensor: %v", err)
	}
	if limit := 4*info.Size() + fixedCost; used > limit {
		t.Errorf("refusing %d bytes took %d bytes of memory, limit %d", info.Size(), used, limit)
	}
	if now, _ := filepath.Glob("/tmp/*pwned*"); !slices.Equal(now, traces) {
		t.Errorf("the payload ran: %v", now)
	}
}

func (g goldenCase) checkGood(t *testing.T) {
	f, err := Open(g.file)
	if err != nil {
		if g.Params.Bool("optional", false) {
			t.Skipf("refused, which is allowed: %v", err)
		}
		t.Fatal(err)
	}
	defer f.Close()
	if strings.HasSuffix(g.Name, "_as_timm") {
		if f, err = GoogleViT(f); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.Tensors()) != len(g.Outputs) {
		t.Errorf("%d tensors %q, want %d", len(f.Tensors()), f.Names(), len(g.Outputs))
	}
	for name, want := range g.Outputs {
		x, err := f.Tensor(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if x.DType.String() != g.outputs[name].DType || !slices.Equal(x.Shape, want.Shape) {
			t.Errorf("%q is %v %v, want %s %v", name, x.DType, x.Shape, g.outputs[name].DType, want.Shape)
			continue
		}
		got, err := x.Bytes()
		if err != nil {
			t.Error(err)
			continue
		}
		if h := hex.EncodeToString(got); h != g.outputs[name].Hex {
			t.Errorf("%q: bytes %s, want %s", name, h, g.outputs[name].Hex)
		}
		var stream bytes.Buffer
		if n, err := x.WriteTo(&stream); err != nil || n != x.Size() || !bytes.Equal(stream.Bytes(), got) {
			t.Errorf("%q: WriteTo gives %d bytes that differ from Bytes (%v)", name, n, err)
		}
		values, err := x.Float32()
		if err != nil {
			t.Error(err)
			continue
		}
		compareValues(t, name, values, want)
	}
	g.checkOther(t, f)
	g.checkStrip(t, f)
}

// compareValues allows for the 9 digits that the files print.
func compareValues(t *testing.T, name string, got []float32, want golden.Tensor) {
	t.Helper()
	for i, g := range got {
		w := want.Data[i]
		if math.IsNaN(w) && g != g || math.IsInf(w, 0) && float64(g) == w {
			continue
		}
		if !(math.Abs(float64(g)-w) <= 1e-7*math.Abs(w)+1e-50) {
			t.Errorf("%q[%d] = %v, want %v", name, i, g, w)
		}
	}
}

func (g goldenCase) checkOther(t *testing.T, f *File) {
	t.Helper()
	for name, want := range g.other {
		if name == metadataKey {
			for k, v := range want.(map[string]any) {
				if f.Metadata()[k] != v {
					t.Errorf("metadata %q = %q, want %v", k, f.Metadata()[k], v)
				}
			}
			continue
		}
		got, ok := f.Values()[name]
		if !ok || !sameValue(got, want) {
			t.Errorf("value %q = %v (%v), want %v", name, got, ok, want)
		}
	}
}

// sameValue compares a value of a pickle with one of JSON, where integers beyond
// 64 bits are strings.
func sameValue(got, want any) bool {
	switch g := got.(type) {
	case int64:
		w, ok := want.(json.Number)
		n, err := w.Int64()
		return ok && err == nil && n == g
	case float64:
		w, ok := want.(json.Number)
		x, err := w.Float64()
		return ok && err == nil && x == g
	case *big.Int:
		return want == g.String()
	case []any:
		w, ok := want.([]any)
		return ok && slices.EqualFunc(g, w, sameValue)
	}
	return got == want
}

// checkStrip loads a file with prefixed names as a network without them.
func (g goldenCase) checkStrip(t *testing.T, f *File) {
	t.Helper()
	prefix := g.Params.String("strip_prefix", "")
	if prefix == "" {
		return
	}
	var want []Spec
	for name, x := range g.Outputs {
		base := name[strings.LastIndexByte(name, '/')+1:]
		want = append(want, Spec{Name: strings.TrimPrefix(base, prefix), Shape: x.Shape})
	}
	got, m, err := Load(f, want, Rules{Strip: []string{prefix}})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range g.Outputs {
		compareValues(t, name, got[strings.TrimPrefix(strings.TrimPrefix(name, m.Prefix), prefix)], x)
	}
}
