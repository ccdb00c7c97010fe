package api

import (
	"encoding/json"
	"net/http"
)

// Reply answers a request with a value as JSON.
func Reply(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		Fail(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client has gone
}

// Fail answers a request with an Error. With status 503 it says when to try again.
func Fail(w http.ResponseWriter, status int, err error) {
	text, encoding := json.Marshal(Error{Error: err.Error()})
	if encoding != nil {
		text = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client has gone
}
