// Package float16 converts numbers to IEEE 754 binary16 and back.
package float16
