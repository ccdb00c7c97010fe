package features

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/vernier-ml/vernier/weights"
)

// npy is a .npy file as NumPy writes it.
func npy(descr string, fortran bool, shape string, elements any, order binary.ByteOrder) []byte {
	order2 := "False"
	if fortran {
		order2 = "True"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order2, shape)
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	binary.Write(&b, order, elements)
	return b.Bytes()
}

func npz(t *testing.T, method uint16, arrays map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, a := range arrays {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func put(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	le = binary.LittleEndian
	be = binary.BigEndian
	// six are the rows (1, 2), (-3, 0.5), (5, 6) in every file below.
	six      = []float32{1, 2, -3, 0.5, 5, 6}
	sixHalf  = []uint16{0x3c00, 0x4000, 0xc200, 0x3800, 0x4500, 0x4600}
	sixByCol = []float64{1, -3, 5, 2, 0.5, 6}
	sixWide  = []float64{1, 2, -3, 0.5, 5, 6}
)

func TestRowsOfEveryLayout(t *testing.T) {
	f4 := npy("<f4", false, "(3, 2)", six, le)
	ids := npy("<i8", false, "(3,)", []int64{7, -1, 7}, le)
	tensor, err := weights.FromFloat32("image", []int{3, 2}, six)
	if err != nil {
		t.Fatal(err)
	}
	safe := filepath.Join(t.TempDir(), "x.safetensors")
	if err := weights.WriteSafetensors(safe, []*weights.Tensor{tensor}, nil); err != nil {
		t.Fatal(err)
	}
	type listRow struct {
		Vec   []float64 `parquet:"vec,list"`
		Label string    `parquet:"label"`
	}
	lists := filepath.Join(t.TempDir(), "x.parquet")
	if err := parquet.WriteFile(lists, []listRow{{[]float64{1, 2}, "a"}, {[]float64{-3, 0.5}, "b"}, {[]float64{5, 6}, "a"}}); err != nil {
		t.Fatal(err)
	}
	type flatRow struct {
		A     float32 `parquet:"0"`
		B     float64 `parquet:"1"`
		Label int64   `parquet:"label"`
	}
	flat := filepath.Join(t.TempDir(), "x.parquet")
	if err := parquet.WriteFile(flat, []flatRow{{1, 2, 7}, {-3, 0.5, -1}, {5, 6, 7}}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path   string
		mapped bool
		labels []string // inside, or nil
	}{
		"float32":                {put(t, "x.npy", f4), true, nil},
		"float16":                {put(t, "x.npy", npy("<f2", false, "(3, 2)", sixHalf, le)), true, nil},
		"float64":                {put(t, "x.npy", npy("<f8", false, "(3, 2)", sixWide, le)), true, nil},
		"big-endian float32":     {put(t, "x.npy", npy(">f4", false, "(3, 2)", six, be)), false, nil},
		"big-endian float16":     {put(t, "x.npy", npy(">f2", false, "(3, 2)", sixHalf, be)), false, nil},
		"Fortran order":          {put(t, "x.npy", npy("<f8", true, "(3, 2)", sixByCol, le)), false, nil},
		"big-endian by columns":  {put(t, "x.npy", npy(">f8", true, "(3, 2)", sixByCol, be)), false, nil},
		"stored npz":             {put(t, "x.npz", npz(t, zip.Store, map[string][]byte{"a": f4, "labels": ids})), true, []string{"7", "-1", "7"}},
		"deflated npz":           {put(t, "x.npz", npz(t, zip.Deflate, map[string][]byte{"a": f4, "y": ids})), false, []string{"7", "-1", "7"}},
		"one of several arrays":  {put(t, "x.npz", npz(t, zip.Store, map[string][]byte{"a": f4, "b": f4})) + ":a", true, nil},
		"the array of that name": {put(t, "x.npz", npz(t, zip.Store, map[string][]byte{"features": f4, "other": f4})), true, nil},
		"safetensors":            {safe, true, nil},
		"parquet with lists":     {lists, false, []string{"a", "b", "a"}},
		"parquet with columns":   {flat, false, []string{"7", "-1", "7"}},
		"CSV with names":         {put(t, "x.csv", []byte("path,label,e0,e1\np,a,1,2\nq,b,-3,0.5\nr,a,5,6\n")), false, []string{"a", "b", "a"}},
		"CSV as pandas writes":   {put(t, "x.csv", []byte(",0,1,target\n0,1.0,2.0,7\n1,-3.0,0.5,-1\n2,5.0,6.0,7\n")), false, []string{"7", "-1", "7"}},
		"CSV without a header":   {put(t, "x.csv", []byte("1,2\n-3,5e-1\n5,6\n")), false, nil},
		"table with blanks":      {put(t, "x.txt", []byte("1.0 2.0\n-3.0 0.5\n5.0 6.0\n")), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Open(c.path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if f.Rows() != 3 || f.Width() != 2 || f.Mapped() != c.mapped {
				t.Fatalf("%d rows of %d, mapped: %v", f.Rows(), f.Width(), f.Mapped())
			}
			if x, err := f.All(); err != nil || !reflect.DeepEqual(x, six) {
				t.Errorf("all: %v, %v", x, err)
			}
			x := make([]float32, 4)
			if err := f.Read(x, 1); err != nil || !reflect.DeepEqual(x, six[2:]) {
				t.Errorf("the last two: %v, %v", x, err)
			}
			if err := f.Gather(x, []int{2, 0}); err != nil || !reflect.DeepEqual(x, []float32{5, 6, 1, 2}) {
				t.Errorf("the last and the first: %v, %v", x, err)
			}
			if err := f.Read(x, 2); err == nil {
				t.Error("two rows from the last on")
			}
			if err := f.CheckFinite(); err != nil {
				t.Error(err)
			}
			l, err := f.LabelColumn()
			if err != nil || (l == nil) != (c.labels == nil) {
				t.Fatalf("labels: %v, %v", l, err)
			}
			for i, want := range c.labels {
				if got := l.Text(i); got != want {
					t.Errorf("label %d: %q, want %q", i, got, want)
				}
			}
		})
	}
}

func TestLabelFiles(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		classes []string
		of      []int
	}{
		"int64":              {put(t, "y.npy", npy("<i8", false, "(3,)", []int64{10, 9, 10}, le)), []string{"9", "10"}, []int{1, 0, 1}},
		"uint8 in a column":  {put(t, "y.npy", npy("|u1", false, "(3, 1)", []uint8{1, 0, 1}, le)), []string{"0", "1"}, []int{1, 0, 1}},
		"big-endian int32":   {put(t, "y.npy", npy(">i4", false, "(3,)", []int32{5, -5, 5}, be)), []string{"-5", "5"}, []int{1, 0, 1}},
		"whole float64":      {put(t, "y.npy", npy("<f8", false, "(3,)", []float64{2, 1, 2}, le)), []string{"1", "2"}, []int{1, 0, 1}},
		"U":                  {put(t, "y.npy", npy("<U2", false, "(3,)", []uint32{'b', 0, 'a', 'ß', 'b', 0}, le)), []string{"aß", "b"}, []int{1, 0, 1}},
		"big-endian U":       {put(t, "y.npy", npy(">U1", false, "(3,)", []uint32{'b', 'a', 'b'}, be)), []string{"a", "b"}, []int{1, 0, 1}},
		"S":                  {put(t, "y.npy", npy("|S2", false, "(3,)", []byte("b\x00aab\x00"), le)), []string{"aa", "b"}, []int{1, 0, 1}},
		"lines":              {put(t, "y.txt", []byte("label\nant\nlabel\n")), []string{"ant", "label"}, []int{1, 0, 1}},
		"CSV, one column":    {put(t, "y.csv", []byte("b\na\nb\n")), []string{"a", "b"}, []int{1, 0, 1}},
		"CSV, with a header": {put(t, "y.csv", []byte("label\nb\na\nb\n")), []string{"a", "b"}, []int{1, 0, 1}},
		"CSV, usual name":    {put(t, "y.csv", []byte("path,class\np,b\nq,a\nr,b\n")), []string{"a", "b"}, []int{1, 0, 1}},
		"CSV, chosen":        {put(t, "y.csv", []byte("path,species\np,b\nq,a\nr,b\n")) + ":species", []string{"a", "b"}, []int{1, 0, 1}},
		"numbers with zeros": {put(t, "y.txt", []byte("007\n7\n007\n")), []string{"007", "7"}, []int{0, 1, 0}},
	} {
		col, err := ReadColumn(c.path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if classes, of := col.Classes(); !reflect.DeepEqual(classes, c.classes) || !reflect.DeepEqual(of, c.of) {
			t.Errorf("%s: %v %v, want %v %v", name, classes, of, c.classes, c.of)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	f4 := npy("<f4", false, "(3, 2)", six, le)
	for name, c := range map[string]struct{ path, want string }{
		"cut off":            {put(t, "x.npy", f4[:len(f4)-3]), "x.npy: an array of shape [3 2] and float32 has 24 bytes, of which 21 are there: the file is cut off"},
		"cut in the header":  {put(t, "x.npy", f4[:20]), "cut off"},
		"empty":              {put(t, "x.npy", nil), "the file is empty"},
		"no rows":            {put(t, "x.npy", npy("<f4", false, "(0, 2)", []float32{}, le)), "0 rows of 2 numbers"},
		"a vector":           {put(t, "x.npy", npy("<f4", false, "(6,)", six, le)), "reshape"},
		"objects":            {put(t, "x.npy", npy("|O", false, "(3, 2)", []byte("\x80\x04"), le)), "x.astype(str)"},
		"texts":              {put(t, "x.npy", npy("<U1", false, "(1, 1)", []uint32{'a'}, le)), "holds text, want numbers"},
		"complex":            {put(t, "x.npy", npy("<c8", false, "(3, 1)", six, le)), "complex64, want numbers"},
		"which array":        {put(t, "x.npz", npz(t, zip.Store, map[string][]byte{"a": f4, "b": f4})), "choose one as FILE:NAME"},
		"another name":       {put(t, "x.npz", npz(t, zip.Store, map[string][]byte{"imge": f4})) + ":image", "did you mean imge?"},
		"a cut zip":          {put(t, "x.npz", npz(t, zip.Store, map[string][]byte{"a": f4})[:60]), "cut off"},
		"not there":          {filepath.Join(t.TempDir(), "no.npy"), "no such file"},
		"another ending":     {put(t, "x.mat", nil), "want one that ends in .npy"},
		"a word in CSV":      {put(t, "x.csv", []byte("e0,e1\n1,2\n3,x\n")), `line 3: column e1: "x", want a number`},
		"an empty cell":      {put(t, "x.csv", []byte("e0,e1\n1,2\n3,\n4,5\n")), "line 3"},
		"a cut parquet file": {put(t, "x.parquet", []byte("PAR1")), "not a parquet file, or one that was cut"},
	} {
		f, err := Open(c.path)
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
	for name, c := range map[string]struct{ path, want string }{
		"one-hot":          {put(t, "y.npy", npy("<f4", false, "(3, 2)", six, le)), "x.argmax(axis=1)"},
		"not whole":        {put(t, "y.npy", npy("<f4", false, "(3,)", []float32{1, 0.5, 2}, le)), "label of row 1 is no whole number"},
		"NaN":              {put(t, "y.npy", npy("<f8", false, "(1,)", []float64{math.NaN()}, le)), "label of row 0"},
		"a gap":            {put(t, "y.txt", []byte("a\n\nb\n")), "line 2: the value is empty"},
		"which column":     {put(t, "y.csv", []byte("path,species\np,b\n")), "choose one as FILE:NAME"},
		"no such column":   {put(t, "y.csv", []byte("path,species\np,b\n")) + ":specie", "did you mean species?"},
		"a pickle of text": {put(t, "y.npy", npy("|O", false, "(3,)", []byte("\x80\x04"), le)), "x.astype(str)"},
	} {
		if _, err := ReadColumn(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("labels, %s: %v, want %q in it", name, err, c.want)
		}
	}
}

func TestRowsThatAreNotFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, c := range map[string][]float64{
		"row 1 (counted from 0) holds NaN in coordinate 1: ":                 {1, 2, 3, nan, 5, 6},
		"row 0 (counted from 0) holds +Inf in coordinate 0; so does row 2: ": {inf, 2, 3, 4, 5, nan},
		"row 0 (counted from 0) holds -Inf in coordinate 1; so do 2 other":   {1, -1e300, 3, nan, 5, nan},
	} {
		f, err := Open(put(t, "x.npy", npy("<f8", false, "(3, 2)", c, le)))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.CheckFinite(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	f, err := Open(put(t, "x.csv", []byte("1,nan\n2,inf\n3,4\n")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.CheckFinite(); err == nil || !strings.Contains(err.Error(), "so does row 1") {
		t.Error(err)
	}
}
