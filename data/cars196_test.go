package data

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

// matWriter writes MATLAB level 5 elements.
type matWriter struct {
	order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
}

func (w matWriter) element(kind int, body []byte) []byte {
	if n := len(body); n > 0 && n <= 4 && kind != miMatrix { // small form
		b := w.order.AppendUint32(nil, uint32(n<<16|kind))
		return append(append(b, body...), make([]byte, 4-n)...)
	}
	b := w.order.AppendUint32(nil, uint32(kind))
	b = append(w.order.AppendUint32(b, uint32(len(body))), body...)
	return append(b, make([]byte, -len(body)&7)...)
}

func (w matWriter) array(class int, name string, rows, cols int, content ...[]byte) []byte {
	body := w.element(miUint32, w.order.AppendUint32(w.order.AppendUint32(nil, uint32(class)), 0))
	body = append(body, w.element(miInt32, w.order.AppendUint32(w.order.AppendUint32(nil, uint32(rows)), uint32(cols)))...)
	body = append(body, w.element(miInt8, []byte(name))...)
	return w.element(miMatrix, append(body, bytes.Join(content, nil)...))
}

func (w matWriter) text(name, s string) []byte {
	var units []byte
	for _, r := range s {
		units = w.order.AppendUint16(units, uint16(r))
	}
	return w.array(mxChar, name, 1, len(s), w.element(miUint16, units))
}

// number writes a double as small as MATLAB does.
func (w matWriter) number(v int) []byte {
	if v < 256 {
		return w.array(mxDouble, "", 1, 1, w.element(miUint8, []byte{byte(v)}))
	}
	return w.array(mxDouble, "", 1, 1, w.element(miUint16, w.order.AppendUint16(nil, uint16(v))))
}

func (w matWriter) cells(name string, texts []string) []byte {
	var all [][]byte
	for _, s := range texts {
		all = append(all, w.text("", s))
	}
	return w.array(mxCell, name, 1, len(texts), all...)
}

// structure writes an array of structures; rows holds the fields' arrays.
func (w matWriter) structure(name string, fields []string, rows [][][]byte) []byte {
	var names []byte
	for _, f := range fields {
		names = append(names, append([]byte(f), make([]byte, 32-len(f))...)...)
	}
	content := [][]byte{w.element(miInt32, w.order.AppendUint32(nil, 32)), w.element(miInt8, names)}
	for _, r := range rows {
		content = append(content, r...)
	}
	return w.array(mxStruct, name, 1, len(rows), content...)
}

func (w matWriter) file(compress bool, arrays ...[]byte) []byte {
	head := append([]byte("MATLAB 5.0 MAT-file"), bytes.Repeat([]byte(" "), 105)...)
	b := w.order.AppendUint16(head, 0x0100)
	b = w.order.AppendUint16(b, 'M'<<8|'I')
	for _, a := range arrays {
		if compress {
			var z bytes.Buffer
			c := zlib.NewWriter(&z)
			c.Write(a)
			c.Close()
			b = w.order.AppendUint32(b, miCompressed)
			b = append(w.order.AppendUint32(b, uint32(z.Len())), z.Bytes()...)
			continue
		}
		b = append(b, a...)
	}
	return b
}

func carNamesForTest() []string {
	names := make([]string, carClasses)
	for i := range names {
		names[i] = fmt.Sprintf("Make%03d Sedan 2012", i+1)
	}
	return names
}

// carsAnnos is cars_annos.mat with counts[c] images of class c+1.
func carsAnnos(w matWriter, compress bool, counts []int) []byte {
	var rows [][][]byte
	for c, n := range counts {
		for range n {
			rows = append(rows, [][]byte{
				w.text("", fmt.Sprintf("car_ims/%06d.jpg", len(rows)+1)), w.number(1), w.number(2), w.number(300), w.number(40), w.number(c + 1), w.number(len(rows) % 2),
			})
		}
	}
	fields := []string{"relative_im_path", "bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "test"}
	return w.file(compress, w.structure("annotations", fields, rows), w.cells("class_names", carNamesForTest()))
}

// Field case: the public copies of Stanford Cars are laid out differently.
func TestCarsLoadsFromEveryLayout(t *testing.T) {
	picture1 := imagetest.EncodeJPEG(t, smooth(8, 8, 1))
	little, big := matWriter{binary.LittleEndian}, matWriter{binary.BigEndian}
	names := carNamesForTest()
	folders, split := files{}, files{}
	for i, n := range names {
		for k := range 2 {
			img := imagetest.EncodeJPEG(t, smooth(8, 8, uint64(2*i+k)))
			folders[fmt.Sprintf("cars/%s/%d.jpg", n, k)] = img
			split[fmt.Sprintf("car_data/%s/%s/%d.jpg", []string{"train", "test"}[k], n, k)] = img
		}
	}
	var train, test [][][]byte
	for c := range names {
		train = append(train, [][]byte{little.number(c + 1), little.text("", fmt.Sprintf("%05d.jpg", c))})
		test = append(test, [][]byte{little.number(carClasses - c), little.text("", fmt.Sprintf("%05d.jpg", c))})
	}
	devkit := files{
		"devkit/cars_meta.mat":               little.file(true, little.cells("class_names", names)),
		"devkit/cars_train_annos.mat":        little.file(true, little.structure("annotations", []string{"class", "fname"}, train)),
		"cars_test_annos_withlabels.mat":     little.file(true, little.structure("annotations", []string{"class", "fname"}, test)),
		"cars_train/00000.jpg":               picture1,
		"cars_test/00000.jpg":                picture1,
		"devkit/._cars_train_annos.mat.junk": []byte("x"),
	}
	for name, f := range map[string]files{
		"plain":           {"cars_annos.mat": carsAnnos(little, false, spread(392, carClasses)), "car_ims/000001.jpg": picture1},
		"compressed":      {"cars196/cars_annos.mat": carsAnnos(little, true, spread(392, carClasses)), "cars196/car_ims/000001.jpg": picture1},
		"big-endian":      {"cars_annos.mat": carsAnnos(big, true, spread(392, carClasses)), "car_ims/000001.jpg": picture1},
		"devkit":          devkit,
		"folders":         folders,
		"train and test/": split,
	} {
		set := mustOpen(t, "cars196:"+f.folder(t))
		checkCounts(t, set, Published{TrainImages: 196, TestImages: 196, TrainClasses: 98, TestClasses: 98})
		for i, want := range names {
			if set.Classes[i] != want {
				t.Fatalf("%s: class %d is %q, want %q", name, i, set.Classes[i], want)
			}
		}
		if _, err := set.Load(t.Context(), 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(set.Problems) != 1 {
			t.Errorf("%s: notices %q", name, set.Problems)
		}
	}
	full := files{"cars_annos.mat": carsAnnos(little, true, append(spread(8054, 98), spread(8131, 98)...))}
	set := mustOpen(t, "cars196:"+full.folder(t))
	checkCounts(t, set, Published{TrainImages: 8054, TestImages: 8131, TrainClasses: 98, TestClasses: 98})
	if len(set.Notices) != 0 {
		t.Errorf("full list: notices %q", set.Notices)
	}
}

func TestWrongCarsFilesAreRefused(t *testing.T) {
	w := matWriter{binary.LittleEndian}
	good := w.cells("class_names", carNamesForTest())
	annotation := func(class []byte) []byte {
		return w.structure("annotations", []string{"class", "relative_im_path"}, [][][]byte{{class, w.text("", "a.jpg")}})
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"text":             {[]byte(strings.Repeat("not MATLAB ", 20)), "not a MATLAB"},
		"short":            {[]byte("x"), "ends too early"},
		"version 7.3":      {append([]byte("MATLAB 7.3 MAT-file"), make([]byte, 200)...), "save it as version 7"},
		"cut":              {w.file(false, annotation(w.number(1)), good)[:5000], "ends too early"},
		"few names":        {w.file(true, annotation(w.number(1)), w.cells("class_names", []string{"a"})), "1 class_names, want 196"},
		"no annotations":   {w.file(true, good), "no structure annotations"},
		"class 0":          {w.file(true, annotation(w.number(0)), good), "annotation 1: class [0]"},
		"class 197":        {w.file(true, annotation(w.number(197)), good), "annotation 1: class [197]"},
		"class is a text":  {w.file(true, annotation(w.text("", "x")), good), "annotation 1: class"},
		"class not stored": {w.file(true, annotation(w.array(mxDouble, "", 0, 0)), good), "annotation 1: class []"},
	} {
		_, err := Open(t.Context(), "cars196:"+files{"cars_annos.mat": c.file}.folder(t), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "cars_annos.mat") {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	f := classes(t, []string{"x/a", "x/b"}, 1)
	if _, err := Open(t.Context(), "cars196:"+f.folder(t), Options{}); err == nil || !strings.Contains(err.Error(), "2 folders with images; wanted are 196") {
		t.Errorf("two folders: %v", err)
	}
}

func TestMATNumbersOfEveryType(t *testing.T) {
	w := matWriter{binary.LittleEndian}
	for kind, body := range map[int][]byte{
		miInt8: {0xfe}, miInt16: {0xfe, 0xff}, miInt32: {0xfe, 0xff, 0xff, 0xff}, miInt64: {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		miSingle: w.order.AppendUint32(nil, math.Float32bits(-2)), miDouble: w.order.AppendUint64(nil, math.Float64bits(-2)),
	} {
		vars, err := readMAT(w.file(false, w.array(mxDouble, "v", 1, 1, w.element(kind, body))))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := vars["v"].number(); err != nil || v != -2 {
			t.Errorf("type %d: %g, %v", kind, v, err)
		}
	}
	vars, err := readMAT(w.file(false, w.array(mxDouble, "v", 2, 2, w.element(miUint32, w.order.AppendUint64(w.order.AppendUint64(nil, 7), 1<<32)))))
	if err != nil || len(vars["v"].numbers) != 4 || vars["v"].numbers[0] != 7 || vars["v"].numbers[3] != 1 {
		t.Errorf("matrix %+v, %v", vars["v"], err)
	}
}

// No changed or cut byte may panic or ask for huge memory.
func TestDamagedMATNeverPanics(t *testing.T) {
	w := matWriter{binary.LittleEndian}
	r := newRand(1)
	for _, compress := range []bool{false, true} {
		file := carsAnnos(w, compress, spread(8, 4))
		for range 3000 {
			bad := bytes.Clone(file)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
			}
			vars, err := readMAT(bad[:len(bad)-r.IntN(2)*r.IntN(len(bad))])
			if vars == nil && err == nil {
				t.Fatal("neither variables nor an error")
			}
		}
	}
}
