package linear

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// smallModel is a model file of two columns, one of words.
func smallModel(t testing.TB) []byte {
	t.Helper()
	e := &Encoder{Standardized: true, Missing: Refuse, Inputs: []EncodedColumn{
		{Name: "width", Mean: []float64{1.5}, Std: []float64{.25}},
		{Name: "color", Categories: []string{"blue", "red"}, Mean: []float64{.5, .5}, Std: []float64{.5, .5}},
	}}
	x := mat.NewDense(4, 3, []float64{0, 0, 1, 1, 0, 1, 0, 1, 0, 2, 1, 0})
	r, err := Covariance{}.Fit(context.Background(), &Problem{X: x})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := NewModel(&Table{Name: "small", Classes: []string{"a", "b"}}, e, nil, r).Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Any flipped bit is found, or changes nothing that the file says.
func TestModelFileFindsEveryFlippedBit(t *testing.T) {
	file := smallModel(t)
	want, err := ReadModel(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := range file {
		for bit := range 8 {
			bad := bytes.Clone(file)
			bad[at] ^= 1 << bit
			got, err := ReadModel(bytes.NewReader(bad))
			if err != nil {
				found++
				continue
			}
			a, _ := json.Marshal(want)
			b, _ := json.Marshal(got)
			if !bytes.Equal(a, b) {
				t.Fatalf("bit %d of byte %d (%q) changes the model without a word", bit, at, file[at])
			}
		}
	}
	if found < 8*len(file)*8/10 {
		t.Errorf("%d of %d flipped bits were found", found, 8*len(file))
	}
}

func TestModelFileSaysWhatIsWrong(t *testing.T) {
	file := string(smallModel(t))
	for _, c := range []struct{ what, text, want string }{
		{"empty", "", "the file is empty"},
		{"cut", file[:len(file)/2], "cut short"},
		{"edited", strings.Replace(file, "1.5", "1.6", 1), "damaged or was edited"},
		{"without checksum", file[:strings.LastIndex(file, ",")] + "}", "damaged or was edited"},
		{"with a member of another program", strings.Replace(file, "{", `{"author": "x",`, 1), "author"},
		{"glued to another", file + file, "more after its end"},
		{"an array", "[]", "no linear model"},
	} {
		_, err := ReadModel(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

func TestModelKeepsAColumnWithoutWords(t *testing.T) {
	e := &Encoder{Missing: ImputeMean, Inputs: []EncodedColumn{
		{Name: "all gaps", Categories: []string{}, Mean: []float64{}, Std: []float64{}},
		{Name: "x", Mean: []float64{0}, Std: []float64{1}},
	}}
	var b bytes.Buffer
	if err := NewModel(&Table{Name: "t"}, e, nil, closed(identity(1, 1))).Write(&b); err != nil {
		t.Fatal(err)
	}
	m, err := ReadModel(&b)
	if err != nil {
		t.Fatal(err)
	}
	if m.Encoder.Inputs[0].Categories == nil {
		t.Error("a column of words became one of numbers")
	}
}

func FuzzReadModel(f *testing.F) {
	file := smallModel(f)
	f.Add(file)
	f.Add(file[:len(file)/3])
	f.Add(bytes.Replace(file, []byte("0.25"), []byte("-1"), 1))
	f.Add([]byte(`{"format":"vernier linear 1","L":[[1]],"encoder":{"columns":[{}]}}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ReadModel(bytes.NewReader(text))
		if err != nil {
			return
		}
		_, width := m.Result().L.Dims()
		if width != len(m.Encoder.Names()) {
			t.Errorf("L has %d columns, the encoder %d", width, len(m.Encoder.Names()))
		}
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadModel(&b); err != nil {
			t.Errorf("what was read cannot be read again: %v", err)
		}
	})
}
