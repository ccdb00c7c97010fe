package cli

import (
	"encoding/json"
	"io"
)

// WriteJSON writes v indented by two blanks, as --json prints results. The characters
// <, > and & stay as they are: names and ranges have them, and no page holds the text.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// WriteJSONLine writes v as WriteJSON does, on one line.
func WriteJSONLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
