package golden

import (
	"encoding/json"
	"fmt"
	"math"
)

// Tensor is an array of a case, row-major.
type Tensor struct {
	Shape []int
	Data  []float64
	// Strings takes the place of Data where the file holds text (such as 64-bit
	// words in hexadecimal).
	Strings []string

	// text is the data as written, for integers beyond 2^53.
	text json.RawMessage
}

// UnmarshalJSON reads {"shape": [..], "data": [..]} and checks that the two agree.
func (t *Tensor) UnmarshalJSON(text []byte) error {
	var raw struct {
		Shape []int           `json:"shape"`
		Data  json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	if words := texts(raw.Data); words != nil {
		t.Shape, t.Strings = raw.Shape, words
		return checkSize(raw.Shape, len(words))
	}
	var data []float64
	if err := json.Unmarshal(raw.Data, &data); err != nil {
		// Rare: booleans or non-finite numbers among them.
		var values []any
		if err := json.Unmarshal(raw.Data, &values); err != nil {
			return fmt.Errorf("data: %w", err)
		}
		data = make([]float64, len(values))
		for i, v := range values {
			x, err := number(v)
			if err != nil {
				return fmt.Errorf("data[%d]: %w", i, err)
			}
			data[i] = x
		}
	}
	t.Shape, t.Data, t.text = raw.Shape, data, raw.Data
	return checkSize(raw.Shape, len(data))
}

// texts returns data that is a list of strings of which one is not a number.
func texts(data json.RawMessage) []string {
	var words []string
	if json.Unmarshal(data, &words) != nil {
		return nil
	}
	for _, w := range words {
		if _, err := number(w); err != nil {
			return words
		}
	}
	return nil
}

func checkSize(shape []int, count int) error {
	size := 1
	for _, d := range shape {
		if d < 0 {
			return fmt.Errorf("shape %v has a negative dimension", shape)
		}
		size *= d
	}
	if size != count {
		return fmt.Errorf("shape %v wants %d numbers, data has %d", shape, size, count)
	}
	return nil
}

func number(v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		switch v {
		case "NaN":
			return math.NaN(), nil
		case "Inf":
			return math.Inf(1), nil
		case "-Inf":
			return math.Inf(-1), nil
		}
	}
	return 0, fmt.Errorf("%v (%T) is not a number, a boolean, \"NaN\", \"Inf\" or \"-Inf\"", v, v)
}

// Ints returns the data as integers, exactly. It panics if one is not.
func (t Tensor) Ints() []int {
	var exact []int
	if t.text != nil && json.Unmarshal(t.text, &exact) == nil && exact != nil {
		return exact
	}
	ints := make([]int, len(t.Data))
	for i, x := range t.Data {
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			panic(fmt.Sprintf("golden: number %d of a tensor %v is %v, not an integer", i, t.Shape, x))
		}
		ints[i] = int(x)
	}
	return ints
}

// Scalar returns the only number of t. It panics if there are more, or none.
func (t Tensor) Scalar() float64 {
	if len(t.Data) != 1 {
		panic(fmt.Sprintf("golden: a tensor %v is not a scalar", t.Shape))
	}
	return t.Data[0]
}

// Float32 returns the data rounded to float32.
func (t Tensor) Float32() []float32 {
	x := make([]float32, len(t.Data))
	for i, v := range t.Data {
		x[i] = float32(v)
	}
	return x
}
