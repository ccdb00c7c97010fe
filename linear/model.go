package linear

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/metric"
)

// Model is a learned metric with all that it takes to apply it to a table: what a
// model file holds.
type Model struct {
	Format  string        `json:"format"` // ModelFormat
	Learner string        `json:"learner"`
	Metric  metric.Metric `json:"metric"`
	// L is (h, encoded columns); a projection to principal components is part of
	// it.
	L          [][]float64 `json:"L"`
	Encoder    *Encoder    `json:"encoder"`
	Table      string      `json:"table"`
	Rows       int         `json:"rows"`
	Classes    []string    `json:"classes"`
	Iterations int         `json:"iterations"`
	Converged  bool        `json:"converged"`
	// ObjectiveStart and ObjectiveEnd are absent for closed forms.
	ObjectiveStart *float64 `json:"objective_start,omitempty"`
	ObjectiveEnd   *float64 `json:"objective_end,omitempty"`
	Notes          []string `json:"notes,omitempty"`
	// Checksum is the SHA-256, in hexadecimal, of all else in the file, see checksum.
	Checksum string `json:"checksum"`
}

// ModelFormat marks a model file and its version.
const ModelFormat = "vernier linear 1"

// NewModel joins a result to the encoder of its rows. project, if not nil, is
// what rows went through before the learner saw them, (components, columns).
func NewModel(t *Table, e *Encoder, project *mat.Dense, r *Result) *Model {
	l := r.L
	if project != nil {
		l = &mat.Dense{}
		l.Mul(r.L, project)
	}
	m := &Model{Format: ModelFormat, Learner: r.Learner, Metric: r.Metric, Encoder: e, Table: t.Name, Rows: t.Rows(), Classes: t.Classes,
		Iterations: r.Iterations, Converged: r.Converged, Notes: r.Notes}
	h, _ := l.Dims()
	for i := range h {
		m.L = append(m.L, append([]float64{}, l.RawRowView(i)...))
	}
	if !math.IsNaN(r.ObjectiveStart) && !math.IsInf(r.ObjectiveStart, 0) {
		m.ObjectiveStart, m.ObjectiveEnd = &r.ObjectiveStart, &r.ObjectiveEnd
	}
	return m
}

// Result returns the metric, for rows that the model's encoder encoded.
func (m *Model) Result() *Result {
	l := mat.NewDense(len(m.L), len(m.L[0]), nil)
	for i, row := range m.L {
		l.SetRow(i, row)
	}
	return &Result{Learner: m.Learner, L: l, Metric: m.Metric, Iterations: m.Iterations, Converged: m.Converged, Notes: m.Notes,
		ObjectiveStart: math.NaN(), ObjectiveEnd: math.NaN()}
}

// checksum is the SHA-256, in hexadecimal, of the model as compact JSON with an
// empty Checksum: of what the file says, not of how it is laid out.
func (m *Model) checksum() (string, error) {
	bare := *m
	bare.Checksum = ""
	text, err := json.Marshal(&bare)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Write writes the model as JSON with its checksum.
func (m *Model) Write(w io.Writer) error {
	sum, err := m.checksum()
	if err != nil {
		return err
	}
	signed := *m
	signed.Checksum = sum
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(&signed)
}

// ReadModel reads what Write wrote, and refuses a file that was cut, damaged or
// changed since, and anything that is inconsistent.
func ReadModel(r io.Reader) (*Model, error) {
	m := &Model{}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	switch err := d.Decode(m); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("no linear model: the file is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the model is cut short: write or copy it again")
	case err != nil:
		return nil, fmt.Errorf("no linear model, or a damaged one: %w", err)
	}
	if m.Format != ModelFormat {
		return nil, fmt.Errorf("no linear model of this version: its format is %q, want %q", m.Format, ModelFormat)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the model is damaged: there is more after its end")
	}
	sum, err := m.checksum()
	if err != nil {
		return nil, err
	}
	if sum != m.Checksum {
		return nil, fmt.Errorf("the model is damaged or was edited: its checksum does not agree with its contents; copy it again, or learn it again from its table")
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	return m, nil
}

// validate returns the first thing in which the parts of the model do not agree.
func (m *Model) validate() error {
	if m.Encoder == nil || len(m.L) == 0 {
		return fmt.Errorf("the model lacks its encoder or its matrix")
	}
	if err := m.Metric.Validate(); err != nil {
		return err
	}
	width := 0
	for _, in := range m.Encoder.Inputs {
		if len(in.Mean) != in.width() || len(in.Std) != in.width() {
			return fmt.Errorf("column %q has %d means and %d deviations for %d numbers", in.Name, len(in.Mean), len(in.Std), in.width())
		}
		for _, s := range in.Std {
			if !(s > 0) {
				return fmt.Errorf("column %q has deviation %v", in.Name, s)
			}
		}
		width += in.width()
	}
	for i, row := range m.L {
		if len(row) != width || width == 0 {
			return fmt.Errorf("row %d of the matrix has %d numbers, the encoder makes %d columns", i, len(row), width)
		}
	}
	return nil
}
