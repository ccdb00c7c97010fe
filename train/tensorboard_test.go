package train

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/vernier-ml/vernier/internal/tfevents"
	"github.com/vernier-ml/vernier/run"
)

// fields are those of a message by number; a length-delimited one is its bytes, a
// number its bits.
type fields map[protowire.Number][][]byte

func parse(t *testing.T, b []byte) fields {
	t.Helper()
	f := fields{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		m := protowire.ConsumeFieldValue(number, kind, b)
		if m < 0 {
			t.Fatal(protowire.ParseError(m))
		}
		value := b[:m]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(b)
		}
		f[number] = append(f[number], value)
		b = b[m:]
	}
	return f
}

func (f fields) double(n protowire.Number) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(f[n][0]))
}

func (f fields) step() int {
	v, _ := protowire.ConsumeVarint(f[2][0])
	return int(v)
}

func doubles(b []byte) (v []float64) {
	for ; len(b) > 0; b = b[8:] {
		v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return v
}

// readEvents reads an event file as strictly as TensorFlow's record reader does.
func readEvents(t *testing.T, path string) (events []fields) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The masked checksum of the TFRecord format, as its documentation has it.
	check := func(data, sum []byte) {
		c := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
		if got, want := binary.LittleEndian.Uint32(sum), ((c>>15)|(c<<17))+uint32(0xa282ead8); got != want {
			t.Fatalf("checksum %#x, want %#x", got, want)
		}
	}
	for len(b) > 0 {
		check(b[:8], b[8:12])
		n := binary.LittleEndian.Uint64(b)
		check(b[12:12+n], b[12+n:16+n])
		events = append(events, parse(t, b[12:12+n]))
		b = b[16+n:]
	}
	return events
}

// Castagnoli's checksum of "123456789" is 0xe3069283 in every catalog of CRCs.
func TestTheChecksumIsCRC32C(t *testing.T) {
	if c := crc32.Checksum([]byte("123456789"), crc32.MakeTable(crc32.Castagnoli)); c != 0xe3069283 {
		t.Errorf("%#x", c)
	}
}

func TestTensorBoardGetsCurvesHistogramsAndTheEmbedding(t *testing.T) {
	c := longer(t)
	c.Run.TensorBoard, c.Run.EvalEvery = true, 2
	s := begin(t, c)
	if err := s.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(s.folder.Path(run.BoardFolder), "events.out.tfevents.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	events := readEvents(t, files[0])
	if v := string(events[0][3][0]); v != "brain.Event:2" {
		t.Errorf("version %q", v)
	}
	if start := parse(t, events[1][7][0]); events[1].step() != 1 || start[1][0][0] != 1 {
		t.Errorf("the session does not start at step 1: %v", events[1])
	}
	curves, histograms := map[string][]int{}, map[string]int{}
	for _, e := range events[2:] {
		for _, b := range parse(t, e[5][0])[1] {
			v := parse(t, b)
			tag := string(v[1][0])
			if v[5] == nil {
				curves[tag] = append(curves[tag], e.step())
				continue
			}
			h := parse(t, v[5][0])
			limits, counts := doubles(h[6][0]), doubles(h[7][0])
			total := 0.
			for _, n := range counts {
				total += n
			}
			if len(limits) != len(counts) || !slices.IsSorted(limits) || total != h.double(3) || math.Abs(limits[len(limits)-1]-h.double(2)) > 1e-12 || h.double(1) > h.double(4)/h.double(3) {
				t.Errorf("%s: limits %v, counts %v of %v, from %v to %v", tag, limits, counts, h.double(3), h.double(1), h.double(2))
			}
			histograms[tag]++
		}
	}
	n := s.sampler.Batches()
	if got := curves["loss"]; len(got) != 6*n || got[0] != 1 || got[len(got)-1] != 6*n {
		t.Errorf("the loss has points at %v", got)
	}
	if got := curves["validation/recall@1"]; len(got) != 6 || got[5] != 6*n {
		t.Errorf("validation has points at %v", got)
	}
	if got := curves["test classes/map@r"]; len(got) != 3 {
		t.Errorf("test classes have points at %v", got)
	}
	if histograms["similarity/same class"]+histograms["distance/same class"] != 6 || len(histograms) != 2 {
		t.Errorf("histograms %v", histograms)
	}
	tensor, err := os.ReadFile(filepath.Join(s.folder.Path(run.BoardFolder), projectorTensor))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(tensor)), "\n")
	if len(lines) != len(s.sets.Test.Items) || strings.Count(lines[0], "\t") != c.Model.Dim-1 {
		t.Errorf("%d rows of %q", len(lines), lines[0])
	}
	meta, err := os.ReadFile(filepath.Join(s.folder.Path(run.BoardFolder), projectorMetadata))
	if err != nil || !strings.HasPrefix(string(meta), "class\tpath\nclass ") || strings.Count(string(meta), "\n") != len(lines)+1 {
		t.Errorf("%v\n%s", err, meta)
	}
}

// What a killed process wrote after its last checkpoint is void.
func TestAResumedRunVoidsLaterEvents(t *testing.T) {
	c := longer(t)
	c.Run.TensorBoard = true
	s := begin(t, c)
	epoch(t, s)
	steps := s.stepper.opti.Steps()
	s.Close()
	r, err := resume(t, s)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files, err := filepath.Glob(filepath.Join(s.folder.Path(run.BoardFolder), "events.out.tfevents.*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for i, want := range []int{1, steps + 1} {
		if got := readEvents(t, files[i])[1].step(); got != want {
			t.Errorf("file %d starts at step %d, want %d", i, got, want)
		}
	}
}

func TestEventFilesSortByTheirTime(t *testing.T) {
	second := time.Unix(1700000000, 0)
	names := []string{
		boardName(second.Add(-time.Nanosecond), "z", 3),
		boardName(second.Add(9), "y", 20000),
		boardName(second.Add(10), "x", 7),
		boardName(second.Add(123456789), "x", 100),
		boardName(second.Add(time.Second), "a", 1),
	}
	if !slices.IsSorted(names) {
		t.Errorf("not in the order of their times: %q", names)
	}
}

func TestAFinishedRunThatIsResumedWritesNoEventFile(t *testing.T) {
	c := smallConfig(t, shades(t, 12, 4))
	c.Run.TensorBoard, c.WarmupEpochs, c.Epochs = true, 0, 1
	s := begin(t, c)
	trainAll(t, s)
	s.Close()
	for range 2 {
		r, err := resume(t, s)
		if err != nil {
			t.Fatal(err)
		}
		trainAll(t, r)
		r.Close()
	}
	files, err := filepath.Glob(filepath.Join(s.folder.Path(run.BoardFolder), "events.*"))
	if err != nil || len(files) != 1 {
		t.Errorf("event files %v, %v, want one", files, err)
	}
}

func TestAHistogramOfEqualValuesHasOneBin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := tfevents.NewWriter(f, fixedTime)
	if err := w.Histogram(3, "x", []float64{2, 2, 2}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	e := readEvents(t, path)[0]
	h := parse(t, parse(t, parse(t, e[5][0])[1][0])[5][0])
	if e.step() != 3 || e.double(1) != 1.5 || !slices.Equal(doubles(h[7][0]), []float64{3}) || h.double(5) != 12 {
		t.Errorf("%v", h)
	}
}
