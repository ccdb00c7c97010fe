package gallery

import (
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/weights"
)

// Names of the arrays of a table, and keys of the metadata of safetensors.
const (
	embeddingsName = "embeddings"
	labelsName     = "labels"
	pathsName      = "paths"
	classesName    = "classes"
	metricName     = "metric"
	modelName      = "model"
	dataName       = "data"
	checksumName   = "checksum" // of all else; safetensors has it under weights.ChecksumKey
)

// DescriptionFile tells other tools how the rows beside it are to be compared.
const DescriptionFile = "metric.json"

func (t *Table) numbers() (x, labels *weights.Tensor, err error) {
	if x, err = weights.FromFloat32(embeddingsName, []int{t.N, t.H}, t.X); err != nil || t.Labels == nil {
		return x, nil, err
	}
	ids := make([]int64, t.N)
	for i, l := range t.Labels {
		ids[i] = int64(l)
	}
	labels, err = weights.FromInt64(labelsName, []int{t.N}, ids)
	return x, labels, err
}

// arrays is a table as arrays and texts, and as the checksum of both. Lists are JSON.
func (t *Table) arrays() (ts []*weights.Tensor, texts map[string]string, err error) {
	x, labels, err := t.numbers()
	if err != nil {
		return nil, nil, err
	}
	ts = []*weights.Tensor{x}
	if labels != nil {
		ts = append(ts, labels)
	}
	texts = map[string]string{}
	for key, value := range map[string]string{metricName: t.Metric, modelName: t.Model, dataName: t.Data} {
		if value != "" {
			texts[key] = value
		}
	}
	for key, list := range map[string][]string{pathsName: t.Paths, classesName: t.Classes} {
		if list == nil {
			continue
		}
		text, err := json.Marshal(list)
		if err != nil {
			return nil, nil, err
		}
		texts[key] = string(text)
	}
	return ts, texts, nil
}

// checksum is that of everything a table says, for formats that keep it beside it:
// weights.Checksum of what a safetensors file of the table holds.
func (t *Table) checksum() (string, error) {
	ts, texts, err := t.arrays()
	if err != nil {
		return "", err
	}
	return weights.Checksum(ts, texts)
}

// verify compares a table with the checksum in its file. A file without one is taken
// as it is.
func (t *Table) verify(want string) error {
	if want == "" {
		return nil
	}
	sum, err := t.checksum()
	if err == nil && sum != want {
		err = errors.New("it is damaged: its checksum does not agree with its contents (or another program changed them and kept the checksum)")
	}
	return err
}

func writeSafetensors(path string, t *Table) error {
	ts, texts, err := t.arrays()
	if err != nil {
		return err
	}
	return weights.WriteChecked(path, ts, texts)
}

func writeNPZ(path string, t *Table) error {
	x, labels, err := t.numbers()
	if err != nil {
		return err
	}
	ts := []*weights.Tensor{x}
	if labels != nil {
		ts = append(ts, labels)
	}
	sum, err := t.checksum()
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		list []string
	}{{pathsName, t.Paths}, {classesName, t.Classes}, {metricName, one(t.Metric)}, {modelName, one(t.Model)}, {dataName, one(t.Data)}, {checksumName, one(sum)}} {
		if len(c.list) == 0 {
			continue
		}
		text, err := weights.FromStrings(c.name, c.list)
		if err != nil {
			return err
		}
		ts = append(ts, text)
	}
	return weights.WriteNPZ(path, ts)
}

func one(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// beside is the name of a companion of a .npy file.
func beside(path, what string) string {
	dir, base := filepath.Split(path)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	if stem == embeddingsName {
		return filepath.Join(dir, what+".npy")
	}
	return filepath.Join(dir, stem+"."+what+".npy")
}

func writeNPY(path string, t *Table) error {
	x, labels, err := t.numbers()
	if err != nil {
		return err
	}
	if labels != nil {
		if err := weights.WriteNPY(beside(path, labelsName), labels); err != nil {
			return err
		}
	}
	if t.Paths != nil {
		text, err := weights.FromStrings(pathsName, t.Paths)
		if err != nil {
			return err
		}
		if err := weights.WriteNPY(beside(path, pathsName), text); err != nil {
			return err
		}
	}
	return weights.WriteNPY(path, x)
}

// readNPY reads a .npy file and what lies beside it.
func readNPY(path string) (*Table, error) {
	t := &Table{}
	if err := t.array(path, embeddingsName); err != nil {
		return nil, err
	}
	for _, what := range []string{labelsName, pathsName} {
		if err := t.array(beside(path, what), what); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", beside(path, what), err)
		}
	}
	if err := t.nameClasses(path); err != nil {
		return nil, err
	}
	return t, readDescription(path, t)
}

// ClassesFile says which class a label means, in an export.
const ClassesFile = "classes.csv"

// nameClasses takes the names of classes from the file beside an export.
func (t *Table) nameClasses(path string) error {
	if t.Labels == nil || filepath.Base(path) != embeddingsName+".npy" {
		return nil
	}
	f, err := wholefile.Open(filepath.Join(filepath.Dir(path), ClassesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("%s beside it: %w", ClassesFile, lineError(err))
	}
	names := map[string]string{}
	for _, r := range rows {
		if len(r) == 2 {
			names[r[0]] = r[1]
		}
	}
	for _, l := range t.Labels {
		name, ok := names[strconv.Itoa(l)]
		if !ok {
			return fmt.Errorf("%s beside it does not name label %d", ClassesFile, l)
		}
		t.Classes = append(t.Classes, name)
	}
	return nil
}

// array takes the only array of a file.
func (t *Table) array(path, what string) error {
	f, err := weights.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Format() != weights.FormatNPY {
		return fmt.Errorf("this is %s, not npy", f.Format())
	}
	return t.fill(f.Tensors()[0], what, nil)
}

// readArrays reads .npz and .safetensors.
func readArrays(path string) (*Table, error) {
	f, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Verify(); err != nil {
		return nil, err
	}
	t := &Table{}
	texts := map[string]*string{metricName: &t.Metric, modelName: &t.Model, dataName: &t.Data, checksumName: new(string)}
	for _, what := range []string{embeddingsName, labelsName, pathsName, classesName, metricName, modelName, dataName, checksumName} {
		if !slices.Contains(f.Names(), what) {
			continue
		}
		x, err := f.Tensor(what)
		if err == nil {
			err = t.fill(x, what, texts)
		}
		if err != nil {
			return nil, err
		}
	}
	if t.Embeddings == nil {
		return nil, fmt.Errorf("there is no array %q", embeddingsName)
	}
	meta := f.Metadata()
	for key, into := range map[string]*[]string{pathsName: &t.Paths, classesName: &t.Classes} {
		if text, ok := meta[key]; ok {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				return nil, fmt.Errorf("metadata %q: want a JSON array of texts: %w", key, err)
			}
		}
	}
	for _, key := range []string{metricName, modelName, dataName} {
		if text, ok := meta[key]; ok {
			*texts[key] = text
		}
	}
	return t, t.verify(*texts[checksumName])
}

// fill takes a part of the table, or one of the texts, from an array.
func (t *Table) fill(x *weights.Tensor, what string, texts map[string]*string) error {
	if want := 1; what != embeddingsName && len(x.Shape) != want {
		return fmt.Errorf("%s has shape %v, want one dimension", what, x.Shape)
	}
	switch what {
	case embeddingsName:
		if len(x.Shape) != 2 {
			return fmt.Errorf("%s has shape %v, want (rows, numbers)", what, x.Shape)
		}
		numbers, err := x.Float32()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		t.Embeddings = &eval.Embeddings{X: numbers, N: x.Shape[0], H: x.Shape[1], Labels: nil}
		return nil
	case labelsName:
		labels, err := integers(x)
		if err != nil {
			return err
		}
		t.Labels = labels
		return nil
	}
	list, err := x.Strings()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch what {
	case pathsName:
		t.Paths = list
	case classesName:
		t.Classes = list
	default:
		if len(list) > 0 {
			*texts[what] = list[0]
		}
	}
	return nil
}

// description is what DescriptionFile says.
type description struct {
	Metric string `json:"metric"`
	Model  string `json:"model"`
	Data   string `json:"data"`
}

// readDescription takes what the file beside an export says, if there is one.
func readDescription(path string, t *Table) error {
	text, err := wholefile.Read(filepath.Join(filepath.Dir(path), DescriptionFile))
	if errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(filepath.Base(path), embeddingsName+".") {
		return nil
	}
	if err != nil {
		return err
	}
	var d description
	err = json.Unmarshal(text, &d)
	if other := new(json.UnmarshalTypeError); errors.As(err, &other) && other.Field != "" {
		return fmt.Errorf("%s beside it: %s is a JSON %s, want a text", DescriptionFile, other.Field, other.Value)
	}
	if err != nil {
		return fmt.Errorf("%s beside it: want a JSON object with the texts metric, model and data: %w", DescriptionFile, err)
	}
	t.Metric, t.Model, t.Data = d.Metric, d.Model, d.Data
	return nil
}

// integers reads whole numbers of any type.
func integers(x *weights.Tensor) ([]int, error) {
	raw, err := x.Bytes()
	if err != nil {
		return nil, err
	}
	size := x.DType.Bits() / 8
	var read func(b []byte) int
	switch x.DType {
	case weights.Int64, weights.Uint64:
		read = func(b []byte) int { return int(int64(binary.LittleEndian.Uint64(b))) }
	case weights.Int32:
		read = func(b []byte) int { return int(int32(binary.LittleEndian.Uint32(b))) }
	case weights.Uint32:
		read = func(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }
	case weights.Int16:
		read = func(b []byte) int { return int(int16(binary.LittleEndian.Uint16(b))) }
	case weights.Uint16:
		read = func(b []byte) int { return int(binary.LittleEndian.Uint16(b)) }
	case weights.Int8:
		read = func(b []byte) int { return int(int8(b[0])) }
	case weights.Uint8:
		read = func(b []byte) int { return int(b[0]) }
	default:
		return nil, fmt.Errorf("%s are %s, want whole numbers", x.Name, x.DType)
	}
	out := make([]int, 0, len(raw)/size)
	for ; len(raw) > 0; raw = raw[size:] {
		out = append(out, read(raw))
	}
	return out, nil
}
