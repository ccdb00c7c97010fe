package cli

import (
	"encoding/json"
	"io"
)

// WriteJSON writes v indented by two blanks, as --json prints results.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
