// Package golden reads reference vectors (numbers that another implementation
// computed, stored as JSON) and compares results with them. Only tests use it.
//
// A file holds one case:
//
//	{"family": "...", "case": "...", "source": "what computed it", "note": "optional",
//	 "params": {...}, "inputs": {"name": {"shape": [..], "data": [..]}}, "outputs": {same},
//	 "tolerance": {"rtol": .., "atol": ..}}
//
// data is flat and row-major; a scalar has shape [] and one number. Integers are
// printed as integers, booleans as 0/1 or true/false, and numbers that JSON does
// not know as the strings "NaN", "Inf" and "-Inf".
package golden

import "encoding/json"

// Case is one file.
type Case struct {
	Family, Name, Source, Note string
	// Path is where the case was read from.
	Path            string
	Params          Params
	Inputs, Outputs map[string]Tensor
	// Tolerance is for float64 arithmetic.
	Tolerance Tolerance
	// Raw holds every top-level member undecoded, also those not named above.
	Raw map[string]json.RawMessage
}

// Tolerance allows |got - want| <= ATol + RTol*|want|.
type Tolerance struct {
	RTol float64 `json:"rtol"`
	ATol float64 `json:"atol"`
}

// Decode reads a case; path is for its messages.
func Decode(path string, text []byte) (*Case, error) {
	c := &Case{Path: path}
	if err := c.decode(text); err != nil {
		return nil, &decodeError{path, err}
	}
	return c, nil
}

func (c *Case) decode(text []byte) error {
	if err := json.Unmarshal(text, &c.Raw); err != nil {
		return err
	}
	members := []struct {
		name string
		into any
	}{
		{"family", &c.Family}, {"case", &c.Name}, {"source", &c.Source}, {"note", &c.Note},
		{"params", &c.Params}, {"inputs", &c.Inputs}, {"outputs", &c.Outputs}, {"tolerance", &c.Tolerance},
	}
	for _, m := range members {
		raw, ok := c.Raw[m.name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, m.into); err != nil {
			return &decodeError{"member " + m.name, err}
		}
	}
	return nil
}

type decodeError struct {
	where string
	err   error
}

func (e *decodeError) Error() string { return e.where + ": " + e.err.Error() }
func (e *decodeError) Unwrap() error { return e.err }
