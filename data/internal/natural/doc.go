// Package natural orders names as people do: img2 before img10.
package natural
