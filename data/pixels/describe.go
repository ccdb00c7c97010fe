package pixels

import (
	"errors"
	"strings"
)

// Describe says what a file is of which the beginning is given: a picture, or something
// else with what to do to get one; "" if that is not known.
func Describe(head []byte) string {
	if f, ok := formatOf(head); ok {
		return "a " + f.name + " picture"
	}
	var foreign *foreignError
	if errors.As(notImage(head), &foreign) {
		return strings.TrimPrefix(foreign.what, "not an image: ")
	}
	return ""
}

// StandIn says what stands in an image's place, where a download, a clone or a copy left
// something else, and what to do; "" if the file may be any text.
func StandIn(head []byte) string {
	head = head[:min(len(head), foreignHead)]
	if text, ok := plainText(head); ok {
		return standIn(text)
	}
	return otherFile(head)
}
