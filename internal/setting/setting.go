// Package setting lets a message name settings, which a command calls by its flags.
//
// A library calls a setting by its place in a configuration, optimizer.rate, and the same
// message is for who writes Go, a file of settings or a command line. Errorf, and whatever
// else takes a format and arguments, gets places as Name; Text and Args say the message
// once more with other names in their stead.
package setting

import (
	"errors"
	"fmt"
	"strings"
)

// Name is the place of a setting in a configuration, such as optimizer.rate.
type Name string

// Call says what a reader calls a setting.
type Call func(Name) string

// namedError is an error whose message names settings.
type namedError struct {
	error
	format string
	args   []any
}

func (e *namedError) Unwrap() error { return errors.Unwrap(e.error) }

// Errorf is fmt.Errorf, with at most one %w, for messages whose arguments hold a Name.
func Errorf(format string, args ...any) error {
	return &namedError{fmt.Errorf(format, args...), format, args}
}

// Text is the message of an error, with settings called as a reader calls them.
func Text(err error, call Call) string {
	text, named := err.Error(), new(namedError)
	if errors.As(err, &named) {
		text = strings.Replace(text, named.Error(), fmt.Errorf(named.format, Args(named.args, call)...).Error(), 1)
	}
	return text
}

// Args are the arguments of a format with each Name, and those in errors, called as a
// reader calls them.
func Args(args []any, call Call) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case Name:
			out[i] = call(a)
		case error:
			out[i] = errors.New(Text(a, call))
		default:
			out[i] = a
		}
	}
	return out
}
