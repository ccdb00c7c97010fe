// Package unpack reads compressed files as they come: several members in one file,
// padding behind the last, and bytes that belong to something else.
package unpack
