package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/internal/tfevents"
	"github.com/vernier-ml/vernier/run"
)

// board writes what TensorBoard shows. A nil board writes nothing.
type board struct {
	f      *os.File
	events *tfevents.Writer
	labels []int // of the latest batch
	last   time.Time
}

// openBoard begins an event file after the given number of steps. Every start of a run has a
// file of its own, TensorBoard joins them.
// TensorBoard reads the files of a folder in the order of their names and goes
// back to none, so a name begins with its time, to the nanosecond: starts within a
// second are in order too.
func openBoard(f run.Folder, steps int) (*board, error) {
	dir := f.Path(run.BoardFolder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	now := time.Now()
	name := boardName(now, host, os.Getpid())
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	b := &board{f: file, events: tfevents.NewWriter(file, time.Now), last: now}
	if err := b.events.Begin(steps + 1); err != nil {
		file.Close()
		return nil, err
	}
	return b, nil
}

func boardName(t time.Time, host string, pid int) string {
	return fmt.Sprintf("events.out.tfevents.%010d.%09d.%s.%d", t.Unix(), t.Nanosecond(), host, pid)
}

// step adds the curves of a step.
func (b *board) step(r stepRecord, labels []int) error {
	if b == nil {
		return nil
	}
	b.labels = append(b.labels[:0], labels...)
	list := []tfevents.Scalar{
		{Tag: "loss", Value: r.Loss}, {Tag: "gradient norm", Value: r.GradNorm}, {Tag: "active terms", Value: share(r.Active, r.Total)},
		{Tag: "rate/backbone", Value: r.Rate}, {Tag: "rate/head", Value: r.HeadRate}, {Tag: "rate/loss", Value: r.LossRate},
	}
	now := time.Now()
	if d := now.Sub(b.last); d > 0 {
		list = append(list, tfevents.Scalar{Tag: "images per second", Value: float64(len(labels)) / d.Seconds()})
	}
	b.last = now
	return b.events.Scalars(r.Step, list)
}

// epoch adds the curves and histograms of an epoch.
func (b *board) epoch(s *Session, r run.EpochRecord) error {
	if b == nil {
		return nil
	}
	quantity := s.quantity()
	list := []tfevents.Scalar{{Tag: "epoch/loss", Value: r.Loss}, {Tag: "epoch/" + quantity + " mean", Value: r.DistanceMean}, {Tag: "epoch/" + quantity + " deviation", Value: r.DistanceStd}, {Tag: "epoch/saturated", Value: r.Saturated}}
	if r.Recall1 >= 0 {
		list = append(list, tfevents.Scalar{Tag: "validation/recall@1", Value: r.Recall1}, tfevents.Scalar{Tag: "validation/map@r", Value: r.MAPAtR})
	}
	if e := r.EMA; e != nil && e.Recall1 >= 0 {
		list = append(list, tfevents.Scalar{Tag: "validation, averaged weights/recall@1", Value: e.Recall1}, tfevents.Scalar{Tag: "validation, averaged weights/map@r", Value: e.MAPAtR})
	}
	if r.Test != nil {
		list = append(list, tfevents.Scalar{Tag: "test classes/recall@1", Value: r.Test.Recall1}, tfevents.Scalar{Tag: "test classes/map@r", Value: r.Test.MAPAtR})
	}
	if err := b.events.Scalars(r.Steps, list); err != nil {
		return err
	}
	b.last = time.Now()
	if len(b.labels) == 0 {
		return nil // the epoch's last step was made by another process
	}
	x, err := s.stepper.latest()
	if err != nil {
		return err
	}
	same, other, err := s.pairValues(x, b.labels)
	if err != nil {
		return err
	}
	for _, h := range []struct {
		tag    string
		values []float64
	}{{quantity + "/same class", same}, {quantity + "/different classes", other}} {
		if len(h.values) == 0 {
			continue
		}
		if err := b.events.Histogram(r.Steps, h.tag, h.values); err != nil {
			return err
		}
	}
	return nil
}

// pairValues are the metric's values between images of one class and of two.
func (s *Session) pairValues(x []float32, labels []int) (same, other []float64, err error) {
	h := s.model.Spec.Dim
	between, err := s.model.Distances()
	if err != nil {
		return nil, nil, err
	}
	for i := range labels {
		values := make([]float64, i)
		between(values, x[i*h:(i+1)*h], x[:i*h])
		for j, v := range values {
			if labels[i] == labels[j] {
				same = append(same, v)
			} else {
				other = append(other, v)
			}
		}
	}
	return same, other, nil
}

func (b *board) close() {
	if b != nil {
		b.f.Close()
	}
}

// Files of the embedding projector.
const (
	projectorConfig   = "projector_config.pbtxt"
	projectorTensor   = "embedding.tsv"
	projectorMetadata = "classes.tsv"
	projectorRows     = 10000 // more than the projector shows at once
)

// project writes the embeddings of a run for TensorBoard's projector.
func project(f run.Folder, e *run.Embedded) error {
	var tensor, meta strings.Builder
	meta.WriteString("class\tpath\n")
	n := e.Embeddings.N
	rows := min(n, projectorRows)
	clean := strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")
	for k := range rows {
		i := k * n / rows
		for j, v := range e.Embeddings.Row(i) {
			if j > 0 {
				tensor.WriteByte('\t')
			}
			fmt.Fprintf(&tensor, "%g", v)
		}
		tensor.WriteByte('\n')
		fmt.Fprintf(&meta, "%s\t%s\n", clean.Replace(e.Set.Classes[e.Embeddings.Labels[i]]), clean.Replace(e.Set.Where(i)))
	}
	config := fmt.Sprintf("embeddings {\n  tensor_name: %q\n  tensor_path: %q\n  metadata_path: %q\n}\n",
		fmt.Sprintf("test classes, epoch %d, %d of %d images", e.Epoch, rows, n), projectorTensor, projectorMetadata)
	if err := os.MkdirAll(f.Path(run.BoardFolder), 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{projectorTensor: tensor.String(), projectorMetadata: meta.String(), projectorConfig: config} {
		if err := f.WriteFile(filepath.Join(run.BoardFolder, name), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}
