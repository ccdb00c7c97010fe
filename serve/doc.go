// Package serve is a gallery as a service: a page on which one drops an image and sees the
// nearest ones (package page), and the same for programs (package api says in which
// words; package client is one in Go).
//
// A gallery is a gallery.Store, which may change while it is searched. Queries that come at
// the same time are embedded and searched together. What is waiting is bounded in number
// and in bytes; what is beyond that is refused with 503 and Retry-After. Rows are put and
// deleted by whoever has a token; what was acknowledged is on the disk.
//
// Without Config.AnyHost it answers only requests whose Host is the machine itself, so that
// no page elsewhere reaches it through a name of its own (DNS rebinding); it never answers
// those that another page sends (CSRF). Pictures are asked for by the key of a row, never by
// a place on the disk. Queries are decoded as images or arrays within limits of size, and not
// kept.
package serve
