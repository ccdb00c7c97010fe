// Package tfevents writes event files of TensorBoard.
package tfevents

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Event files of TensorBoard are TFRecords of protocol buffers: tensorflow.Event
// of event.proto, with Summary and HistogramProto. Numbers below are those of
// their fields.
const (
	eventTime    = protowire.Number(1)
	eventStep    = protowire.Number(2)
	eventVersion = protowire.Number(3)
	eventSummary = protowire.Number(5)
	eventSession = protowire.Number(7)

	summaryValue = protowire.Number(1)
	valueTag     = protowire.Number(1)
	valueSimple  = protowire.Number(2)
	valueHisto   = protowire.Number(5)

	sessionStatus = protowire.Number(1)
	sessionStart  = 1
)

// Writer writes events to a file.
type Writer struct {
	w   io.Writer
	now func() time.Time
}

// NewWriter writes to w; now dates the events.
func NewWriter(w io.Writer, now func() time.Time) *Writer {
	return &Writer{w: w, now: now}
}

// record writes one TFRecord: its length, the data, and a masked CRC-32C of each.
func (e *Writer) record(data []byte) error {
	table := crc32.MakeTable(crc32.Castagnoli)
	masked := func(b []byte) uint32 {
		c := crc32.Checksum(b, table)
		return (c>>15 | c<<17) + 0xa282ead8
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	out = binary.LittleEndian.AppendUint32(out, masked(out))
	out = append(out, data...)
	out = binary.LittleEndian.AppendUint32(out, masked(data))
	if _, err := e.w.Write(out); err != nil {
		return fmt.Errorf("writing events for TensorBoard: %w", err)
	}
	return nil
}

// event writes an event with one further field.
func (e *Writer) event(step int, field protowire.Number, body []byte) error {
	b := protowire.AppendTag(nil, eventTime, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, math.Float64bits(float64(e.now().UnixNano())/1e9))
	b = protowire.AppendTag(b, eventStep, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(step))
	return e.record(appendBytes(b, field, body))
}

// Begin opens a file. What was written for the given step and later ones, before
// a run was killed or resumed, is void.
func (e *Writer) Begin(step int) error {
	if err := e.event(0, eventVersion, []byte("brain.Event:2")); err != nil {
		return err
	}
	status := protowire.AppendTag(nil, sessionStatus, protowire.VarintType)
	return e.event(step, eventSession, protowire.AppendVarint(status, sessionStart))
}

// Scalar is a value of a curve.
type Scalar struct {
	Tag   string
	Value float64
}

// Scalars writes points of several curves.
func (e *Writer) Scalars(step int, list []Scalar) error {
	var summary []byte
	for _, s := range list {
		v := appendBytes(nil, valueTag, []byte(s.Tag))
		v = protowire.AppendTag(v, valueSimple, protowire.Fixed32Type)
		v = protowire.AppendFixed32(v, math.Float32bits(float32(s.Value)))
		summary = appendBytes(summary, summaryValue, v)
	}
	return e.event(step, eventSummary, summary)
}

// histogramBins is the number of equal bins of a histogram.
const histogramBins = 40

// Histogram writes the distribution of values, of which there is at least one.
func (e *Writer) Histogram(step int, tag string, values []float64) error {
	low, high, sum, squares := math.Inf(1), math.Inf(-1), 0., 0.
	for _, v := range values {
		low, high, sum, squares = min(low, v), max(high, v), sum+v, squares+v*v
	}
	width := (high - low) / histogramBins
	limits, counts := []float64{high}, []float64{float64(len(values))}
	if width > 0 {
		limits, counts = make([]float64, histogramBins), make([]float64, histogramBins)
		for i := range limits {
			limits[i] = low + float64(i+1)*width
		}
		for _, v := range values {
			counts[min(int((v-low)/width), histogramBins-1)]++
		}
	}
	var h []byte
	for i, v := range []float64{low, high, float64(len(values)), sum, squares} { // min, max, num, sum, sum_squares
		h = protowire.AppendTag(h, protowire.Number(i+1), protowire.Fixed64Type)
		h = protowire.AppendFixed64(h, math.Float64bits(v))
	}
	const limitField, countField = 6, 7
	h = appendBytes(h, limitField, packed(limits))
	h = appendBytes(h, countField, packed(counts))
	v := appendBytes(nil, valueTag, []byte(tag))
	v = appendBytes(v, valueHisto, h)
	return e.event(step, eventSummary, appendBytes(nil, summaryValue, v))
}

func packed(values []float64) []byte {
	var b []byte
	for _, v := range values {
		b = protowire.AppendFixed64(b, math.Float64bits(v))
	}
	return b
}

func appendBytes(b []byte, field protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), body)
}
