package hash64

import (
	"hash/fnv"
	"testing"
)

func TestMixGivesTheNumbersOfSplitMix64(t *testing.T) {
	// The first three numbers of the reference program (Vigna, splitmix64.c) from state
	// 1234567.
	state := uint64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		state += Gamma
		if got := Mix(state); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
	if Mix(0) != 0 {
		t.Error("0 is not left as it is")
	}
}

func TestTextIsFNV1a(t *testing.T) {
	for _, s := range []string{"", "a", "drop", "\u00df\x00"} {
		h := fnv.New64a()
		h.Write([]byte(s))
		if got := Text(s); got != h.Sum64() {
			t.Errorf("%q: %x, want %x", s, got, h.Sum64())
		}
	}
}
