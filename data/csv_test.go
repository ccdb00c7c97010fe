package data

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/internal/nametext"
)

func TestCSVReadsSplitRolesAndBoxes(t *testing.T) {
	m := picture(10, 8, 1)
	for name, table := range map[string]string{
		"commas":           "path,label,split,is_query,is_gallery,x1,y1,x2,y2,category\nimg/a b.png,10,train,,,,,,,cats\nimg/c.png,9,validation,True,False,2,1,7.0,5,dogs\nimg/c.png,9,validation,False,True,nan,nan,nan,nan,dogs\nimg/ü.png,9,test,True,True,,,,,dogs\n",
		"BOM and CRLF":     "\ufeffpath,label,split,is_query,is_gallery,x_1,y_1,x_2,y_2,category\r\nimg/a b.png,10,train,,,,,,,cats\r\n\"img/c.png\",9,validation,1,0,2,1,7,5,dogs\r\nimg/c.png,9,validation,0,1,,,,,dogs\r\nimg/ü.png,9,test,1,1,,,,,dogs\r\n",
		"semicolons":       "label;path;split;is_query;is_gallery;x1;y1;x2;y2;category\n10;img/a b.png;train;;;;;;;cats\n9;img/c.png;val;1;0;2;1;7;5;dogs\n9;img/c.png;val;0;1;;;;;dogs\n9;img/ü.png;test;1;1;;;;;dogs",
		"Windows slashes":  "path,label,split,is_query,is_gallery,x1,y1,x2,y2,category\nimg\\a b.png,10,train,,,,,,,cats\nimg\\c.png,9,test,1,0,2,1,7,5,dogs\nimg\\c.png,9,test,0,1,,,,,dogs\nimg\\ü.png,9,test,1,1,,,,,dogs\n",
		"dots in the path": "path,label,split,is_query,is_gallery,x1,y1,x2,y2,category\n./img/a b.png,10,train,,,,,,,cats\nimg/../img/c.png,9,test,1,0,2,1,7,5,dogs\nimg/c.png,9,test,0,1,,,,,dogs\nimg/ü.png,9,test,1,1,,,,,dogs\n",
	} {
		dir := files{
			"img/a b.png": imagetest.EncodePNG(t, m), "img/c.png": imagetest.EncodePNG(t, m), "img/ü.png": imagetest.EncodePNG(t, m), "list.csv": []byte(table),
		}.folder(t)
		set := mustOpen(t, "csv:"+filepath.Join(dir, "list.csv"))
		if !slices.Equal(set.Classes, []string{"9", "10"}) || !slices.Equal(set.Labels(), []int{1, 0, 0, 0}) {
			t.Errorf("%s: classes %q, labels %v", name, set.Classes, set.Labels())
		}
		var parts []Part
		var roles []Role
		for i, it := range set.Items {
			parts, roles = append(parts, it.Part), append(roles, it.Role)
			if got, err := set.Load(t.Context(), i); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if i == 1 && (got.W != 5 || got.H != 4 || got.At(0, 0) != m.At(2, 1)) {
				t.Errorf("%s: the box gives %d x %d", name, got.W, got.H)
			}
		}
		if !slices.Equal(parts, []Part{TrainPart, TestPart, TestPart, TestPart}) || !slices.Equal(roles, []Role{AnyRole, QueryRole, GalleryRole, AnyRole}) {
			t.Errorf("%s: parts %v, roles %v", name, parts, roles)
		}
		if set.SuperNames[set.Super[0]] != "dogs" || set.SuperNames[set.Super[1]] != "cats" {
			t.Errorf("%s: super-classes %q", name, set.SuperNames)
		}
		train, test, err := Split(set, SplitSpec{Kind: AutoSplit})
		if err != nil || len(train.Items) != 1 || len(test.Items) != 3 {
			t.Errorf("%s: split %v", name, err)
		}
	}
}

func TestWrongTablesAreRefusedWithTheirLine(t *testing.T) {
	for name, c := range map[string]struct{ table, want string }{
		"empty":             {"", "empty"},
		"head only":         {"path,label\n", "no rows"},
		"no label column":   {"path,class\na,b\n", `no column "label"`},
		"column twice":      {"path,label,path\na,b,c\n", `column "path" comes twice`},
		"missing cell":      {"path,label\na,b\nc\n", "line 3"},
		"no path":           {"path,label\na,b\n ,b\n", "line 3: no path"},
		"no label":          {"path,label\na,b\nc,\n", "line 3: no label"},
		"unknown split":     {"path,label,split\na,b,train\nc,d,dev\n", `line 3: split is "dev"`},
		"split left out":    {"path,label,split\na,b,train\nc,d,\n", `line 3: split is ""`},
		"flag":              {"path,label,is_query\na,b,maybe\n", `line 2: is_query is "maybe"`},
		"half a box":        {"path,label,x1,y1,x2,y2\na,b,1,2,,\n", "line 2: box"},
		"box upside down":   {"path,label,x1,y1,x2,y2\na,b,5,5,1,9\n", "line 2: box"},
		"box of text":       {"path,label,x1,y1,x2,y2\na,b,1,1,x,9\n", `line 2: x2 is "x"`},
		"two categories":    {"path,label,category\na,b,c\nd,b,e\n", "line 3: label \"b\" is in categories"},
		"open quotation":    {"path,label\n\"a,b\n", "list.csv"},
		"label in 2 splits": {"path,label,split\na,b,train\nc,b,test\n", `class "b" is both`},
	} {
		file := filepath.Join(files{"list.csv": []byte(c.table), "a": nil}.folder(t), "list.csv")
		set, err := Open(t.Context(), "csv:"+file, Options{})
		if err == nil {
			set.Classes = append(set.Classes, "another") // past the test for two classes
			_, _, err = Split(set, SplitSpec{Kind: PublishedSplit})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "list.csv") {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestBoxOutsideTheImageIsNamed(t *testing.T) {
	dir := files{"a.png": imagetest.EncodePNG(t, picture(4, 4, 1)), "list.csv": []byte("path,label,x1,y1,x2,y2\na.png,b,4,0,9,9\n")}.folder(t)
	set := mustOpen(t, "csv:"+filepath.Join(dir, "list.csv"))
	set.Items[0].Box = image.Rect(4, 0, 9, 9)
	if _, err := set.Load(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "outside the 4 x 4 pixels") {
		t.Errorf("%v", err)
	}
}

func TestTarArchivesAreReadLikeFolders(t *testing.T) {
	f := classes(t, []string{"set/a", "set/b"}, 2)
	want := mustOpen(t, "folder:"+f.folder(t))
	wantHash, err := want.Hash()
	if err != nil {
		t.Fatal(err)
	}
	var plain, packed bytes.Buffer
	w := tar.NewWriter(&plain)
	for name, content := range f {
		if err := w.WriteHeader(&tar.Header{Name: "./" + name, Size: int64(len(content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		w.Write(content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(&packed)
	z.Write(plain.Bytes())
	z.Close()
	for name, b := range map[string][]byte{"x.tar": plain.Bytes(), "x.tgz": packed.Bytes()} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if hash, err := mustOpen(t, "folder:"+file).Hash(); err != nil || hash != wantHash {
			t.Errorf("%s: hash %s, want %s, %v", name, hash, wantHash, err)
		}
		if err := os.WriteFile(file, b[:len(b)*2/3], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), "folder:"+file, Options{}); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("cut %s: %v", name, err)
		}
	}
}

func idxFile(dims []int, data []byte) []byte {
	b := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, uint32(d))
	}
	return append(b, data...)
}

func TestMNISTReadsPlainAndGzippedFiles(t *testing.T) {
	images, labels := idxFile([]int{4, 2, 3}, bytes.Repeat([]byte{0, 50, 100, 150, 200, 250}, 4)), idxFile([]int{4}, []byte{7, 1, 7, 9})
	for name, f := range map[string]files{
		"plain": {"train-images-idx3-ubyte": images, "train-labels-idx1-ubyte": labels, "t10k-images-idx3-ubyte": images, "t10k-labels-idx1-ubyte": labels},
		"gz":    {"MNIST/raw/train-images-idx3-ubyte.gz": imagetest.Gzip(images), "MNIST/raw/train-labels-idx1-ubyte.gz": imagetest.Gzip(labels), "MNIST/raw/t10k-images-idx3-ubyte.gz": imagetest.Gzip(images), "MNIST/raw/t10k-labels-idx1-ubyte.gz": imagetest.Gzip(labels)},
		"dots":  {"train-images.idx3-ubyte": images, "train-labels.idx1-ubyte": labels, "t10k-images.idx3-ubyte": images, "t10k-labels.idx1-ubyte": labels},
	} {
		set := mustOpen(t, "mnist:"+f.folder(t))
		if !slices.Equal(set.Classes, []string{"1", "7", "9"}) || !slices.Equal(set.Labels(), []int{1, 0, 1, 2, 1, 0, 1, 2}) {
			t.Errorf("%s: classes %q, labels %v", name, set.Classes, set.Labels())
		}
		m, err := set.Load(t.Context(), 5)
		if err != nil || m.W != 3 || m.H != 2 || m.At(1, 1) != (color.RGBA{200, 200, 200, 255}) {
			t.Errorf("%s: %v %v", name, m, err)
		}
		// Their own split has the same classes on both sides; auto splits by class.
		train, test, err := Split(set, SplitSpec{Kind: PublishedSplit})
		if err != nil || len(train.Items) != 4 || len(test.Items) != 4 {
			t.Errorf("%s: published split: %v", name, err)
		}
		train, test, err = Split(set, SplitSpec{Kind: AutoSplit})
		if err != nil || len(train.Classes)+len(test.Classes) != 3 {
			t.Errorf("%s: auto split: %v", name, err)
		}
	}
	good := func() files {
		return files{"train-images-idx3-ubyte": images, "train-labels-idx1-ubyte": labels, "t10k-images-idx3-ubyte": images, "t10k-labels-idx1-ubyte": labels}
	}
	for name, c := range map[string]struct {
		file string
		now  []byte
		want string
	}{
		"cut":            {"train-images-idx3-ubyte", images[:30], "ends too early"},
		"longer":         {"train-images-idx3-ubyte", append(bytes.Clone(images), 1), "longer than the 24 bytes"},
		"huge":           {"train-images-idx3-ubyte", idxFile([]int{1 << 30, 1 << 30, 1 << 30}, []byte{1}), "too large"},
		"text":           {"train-labels-idx1-ubyte", []byte("some text"), "not an IDX file"},
		"other type":     {"train-labels-idx1-ubyte", []byte{0, 0, 13, 1, 0, 0, 0, 0}, "type 13"},
		"too few labels": {"t10k-labels-idx1-ubyte", idxFile([]int{3}, []byte{1, 2, 3}), "4 images"},
	} {
		f := good()
		f[c.file] = c.now
		if _, err := Open(t.Context(), "mnist:"+f.folder(t), Options{}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.file) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestImagesOfAnyKindOpenWithoutLabels(t *testing.T) {
	one := imagetest.EncodePNG(t, picture(3, 3, 1))
	dir := files{"b/2.png": one, "b/10.jpg": one, "b/note.txt": []byte("x"), "single.dat": one}.folder(t)
	archive := files{"deep/er/z.png": one}.zip(t)
	set, err := OpenImages(t.Context(), []string{filepath.Join(dir, "single.dat"), filepath.Join(dir, "b"), archive}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var names []string
	for i := range set.Items {
		names = append(names, filepath.Base(set.Where(i)))
		if _, err := set.Load(t.Context(), i); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(names, []string{"single.dat", "2.png", "10.jpg", "z.png"}) || len(set.Classes) != 1 {
		t.Errorf("%q", names)
	}
	if _, err := OpenImages(t.Context(), []string{filepath.Join(dir, "none.png")}, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := OpenImages(t.Context(), []string{t.TempDir()}, Options{}); err == nil || !strings.Contains(err.Error(), "no images") {
		t.Errorf("empty folder: %v", err)
	}
}

// TestTablesOfForeignProgramsAndMachines reads one list of images in the forms that
// spreadsheets and other computers give it.
func TestTablesOfForeignProgramsAndMachines(t *testing.T) {
	m := imagetest.EncodePNG(t, picture(10, 8, 1))
	utf16 := func(text string) []byte {
		var b []byte
		for _, r := range text {
			b = append(b, byte(r), byte(r>>8))
		}
		return b
	}
	for name, table := range map[string]string{
		"separators of two kinds":  "path,label\nimg/ant\\00.png,ant\nimg\\bee/00.png,bee\n",
		"a spreadsheet":            "path,label,,\r\n img/ant/00.png , ant ,,\r\nimg/bee/00.png,bee,,\r\n,,,\r\n\r\n",
		"surplus cells":            "path,label\nimg/ant/00.png,ant,,\nimg/bee/00.png,bee,\n",
		"numbers of rows":          ",path,label\n0,img/ant/00.png,ant\n1,img/bee/00.png,bee\n",
		"quoted, blanks around":    "\"path\" , \"label\"\n\"img/ant/00.png\" , \"ant\" \nimg/bee/00.png,\"bee\"\n",
		"sep=":                     "sep=;\npath;label\nimg/ant/00.png;ant\nimg/bee/00.png;bee\n",
		"tabs":                     "path\tlabel\nimg/ant/00.png\tant\nimg/bee/00.png\tbee\n",
		"blanks":                   "path label\nimg/ant/00.png ant\nimg/bee/00.png bee\n",
		"comments":                 "# my list, of Monday\n#path,label\nimg/ant/00.png,ant\n# half\nimg/bee/00.png,bee\n",
		"UTF-16":                   string(utf16("\ufeffpath\tlabel\nimg/ant/00.png\tant\nimg/bee/00.png\tbee\n")),
		"UTF-16 without a mark":    string(utf16("path,label\nimg/ant/00.png,ant\nimg/bee/00.png,bee\n")),
		"packed":                   string(imagetest.Gzip([]byte("path,label\nimg/ant/00.png,ant\nimg/bee/00.png,bee\n"))),
		"boxes with decimal comma": "path;label;x1;y1;x2;y2\nimg/ant/00.png;ant;0,0;1,5;5,0;6\nimg/bee/00.png;bee;;;;\n",
	} {
		dir := files{"img/ant/00.png": m, "img/bee/00.png": m, "list.csv": []byte(table)}.folder(t)
		set := mustOpen(t, "csv:"+filepath.Join(dir, "list.csv"))
		if !slices.Equal(set.Classes, []string{"ant", "bee"}) || len(set.Items) != 2 || set.Items[0].Path != "img/ant/00.png" || set.Items[1].Path != "img/bee/00.png" {
			t.Errorf("%s: classes %q, items %+v", name, set.Classes, set.Items)
		}
		if name == "boxes with decimal comma" && set.Items[0].Box != image.Rect(0, 1, 5, 6) {
			t.Errorf("box %v", set.Items[0].Box)
		}
	}
}

func TestATableInLatin1FindsFilesOfEitherName(t *testing.T) {
	m := imagetest.EncodePNG(t, picture(3, 3, 1))
	for _, file := range []string{"\xe4.png", "\u00e4.png"} {
		set := mustOpen(t, "csv:"+filepath.Join(files{file: m, "list.csv": []byte("path,label\n\xe4.png,K\xe4fer\n")}.folder(t), "list.csv"))
		if nametext.Decode(set.Items[0].Path) != file || set.Classes[0] != "K\u00e4fer" || len(set.Notices) < 1 || !strings.Contains(set.Notices[0], "Windows-1252") {
			t.Errorf("%q: %+v, classes %q, notices %q", file, set.Items, set.Classes, set.Notices)
		}
	}
}

func TestATableWithoutAnyOfItsImagesSaysWhatMayBeWrong(t *testing.T) {
	for path, want := range map[string]string{
		`C:\Users\me\birds\01.png`:        "this is a path of a Windows computer; write paths relative to the folder of the table",
		`\\server\share\birds\01.png`:     "this is a path of a Windows computer",
		`C:\Users\me\img\ant\00.png`:      `cut "C:/Users/me/" off the paths`,
		"/home/other/data/img/ant/00.png": `cut "/home/other/data/" off the paths`,
		"img/ant/07.png":                  "no file of this name in it",
		"images/07.png":                   "paths are relative to the folder of the table",
	} {
		dir := files{"img/ant/00.png": []byte("x"), "list.csv": []byte("\npath,label\n" + path + ",ant\n")}.folder(t)
		_, err := Open(t.Context(), "csv:"+filepath.Join(dir, "list.csv"), Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "list.csv line 3: there is no image") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"path,label\na,b\n", "path;label;split;x1;y1;x2;y2\na;b;train;0;0;1,5;2\n", "# path label\na\\b c\n", "sep=,\npath,label,category,is_query,is_gallery\na,b,c,1,0\n"} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<14 {
			t.Skip()
		}
		rows, err := newRows("list.csv", b, source.Folder{Root: dir})
		if err != nil {
			return
		}
		for rows.next() {
			it, key, err := rows.item()
			if err == nil && (it.Path == "" || key == "" || it.Box != image.Rectangle{} && it.Box.Empty()) {
				t.Fatalf("item %+v of class %q", it, key)
			}
		}
	})
}

func FuzzListedClasses(f *testing.F) {
	f.Add([]byte("a\n# b\nb\n"))
	f.Add([]byte("\xff\xfea\x00\n\x00"))
	file := filepath.Join(f.TempDir(), "list.txt")
	set := &Set{Name: "s", Classes: []string{"a", "b"}}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if in, err := listedClasses(set, file); err == nil && len(in) != 2 {
			t.Fatalf("%v", in)
		}
	})
}

func TestValidationRowsOfOtherClassesChooseTheBestEpoch(t *testing.T) {
	f := classes(t, []string{"a", "b", "c", "d", "e", "f"}, 2)
	for name, c := range map[string]struct {
		splits      string // of the classes a to f
		train, test int    // classes
		val         []string
		notice      string
	}{
		"classes of their own":    {"train train validation val test test", 4, 2, []string{"c", "d"}, "4 validation rows of the table choose the best epoch: their classes are neither trained on nor tested on"},
		"one class":               {"train train val test test test", 3, 3, nil, "2 validation rows of the table are trained on: they have classes of the training rows, or too few of their own to choose the best epoch by"},
		"no test rows":            {"train train train val val val", 3, 3, nil, ""},
		"no rows for training":    {"val val val test test test", 0, 6, nil, ""},
		"nothing for validation":  {"train train train test test test", 3, 3, nil, ""},
		"classes of the training": {"train train,val train,val test test test", 3, 3, nil, "2 validation rows of the table are trained on: they have classes of the training rows, or too few of their own to choose the best epoch by"},
		"classes of the test":     {"train train train test,val test,val test", 3, 3, nil, ""},
	} {
		table := "path,label,split\n"
		for i, split := range strings.Fields(c.splits) {
			class := string(rune('a' + i))
			first, second, both := strings.Cut(split, ",")
			if !both {
				second = first
			}
			table += fmt.Sprintf("%s/aa.png,%[1]s,%s\n%[1]s/ab.png,%[1]s,%[3]s\n", class, first, second)
		}
		f["t.csv"] = []byte(table)
		set := mustOpen(t, "csv:"+filepath.Join(f.folder(t), "t.csv"))
		if strings.Join(set.Notices, "|") != c.notice {
			t.Errorf("%s: notices %q", name, set.Notices)
		}
		if c.train == 0 {
			continue
		}
		train, test, err := Split(set, SplitSpec{Kind: PublishedSplit})
		if err != nil || len(train.Classes) != c.train || len(test.Classes) != c.test {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, val, err := Validation(train, 0.5, 1); c.val != nil && (err != nil || !slices.Equal(val.Classes, c.val)) {
			t.Errorf("%s: %v, %v", name, val, err)
		}
	}
}

func TestAddressesAndHomesInTables(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir) // Windows
	f := classes(t, []string{"a", "b"}, 1)
	for name, content := range f {
		path := filepath.Join(dir, "birds", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	table := imagetest.PutFile(t, "t.csv", []byte("path,label\n~/birds/a/aa.png,a\n~\\birds\\b\\aa.png,b\n"))
	set := mustOpen(t, "csv:"+table)
	for i := range set.Items {
		if _, err := set.Load(t.Context(), i); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{"https://example.org/a.jpg", "HTTP://example.org/a.jpg", "s3://bucket/a.jpg", "gs://bucket/a.jpg", "file:///home/a.jpg", "data:image/png;base64"} {
		table := imagetest.PutFile(t, "t.csv", []byte("path,label\na.jpg,a\n"+path+",b\n"))
		want := table + " line 3: path \"" + path + "\" is a URL, not a file: fetch the images first, and write where they lie"
		if _, err := Open(t.Context(), "csv:"+table, Options{}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
	// The file of that name beside the table is meant.
	here := files{"~/x.png": f["a/aa.png"], "t.csv": []byte("path,label\n~/x.png,a\n")}
	if set := mustOpen(t, "csv:"+filepath.Join(here.folder(t), "t.csv")); set.Items[0].Path != "~/x.png" {
		t.Errorf("%q", set.Items[0].Path)
	}
}

func TestWhatStandsInAListsPlaceIsNamed(t *testing.T) {
	lfs, page := []byte("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n"), []byte("<!DOCTYPE html><html>404")
	for name, c := range map[string]struct {
		spec string
		set  files
		want string
	}{
		"table":        {"csv:t.csv", files{"t.csv": lfs}, "t.csv: a Git LFS pointer, which stands for the table: fetch the table with git lfs pull"},
		"page":         {"csv:t.csv", files{"t.csv": page}, "t.csv: a web page, not a text table: a download saved it in the table's place; fetch the table again"},
		"bird list":    {"cub200:", files{"image_class_labels.txt": lfs, "images.txt": lfs, "classes.txt": lfs}, "images.txt: not the list that it is named for: a Git LFS pointer, which stands for the list; fetch the list with git lfs pull"},
		"product list": {"sop:", files{"Ebay_train.txt": page, "Ebay_test.txt": page}, "Ebay_train.txt: not the list that it is named for: a web page, which a download saved in its place; fetch the list again"},
		"cars":         {"cars196:", files{"cars_annos.mat": lfs}, "cars_annos.mat: not the list that it is named for: a Git LFS pointer"},
		"digits":       {"mnist:", files{"train-images-idx3-ubyte": lfs}, "train-images-idx3-ubyte: not the list that it is named for: a Git LFS pointer"},
	} {
		kind, file, _ := strings.Cut(c.spec, ":")
		if _, err := Open(t.Context(), kind+":"+filepath.Join(c.set.folder(t), file), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
