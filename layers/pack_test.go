package layers

import (
	"math/rand/v2"
	"testing"
)

// randomSpans draws lives as a reverse pass has them: many nested ones, some
// short, some without end.
func randomSpans(rng *rand.Rand) []span {
	n := 1 + rng.IntN(80)
	spans := make([]span, n)
	for i := range spans {
		birth := rng.IntN(2 * n)
		death := birth
		switch rng.IntN(4) {
		case 0:
			death = birth + rng.IntN(4)
		case 1:
			death = max(birth, 2*n-birth)
		case 2:
			death = birth + rng.IntN(n)
		case 3:
			if rng.IntN(4) == 0 {
				death = forever
			}
		}
		spans[i] = span{birth, death, 64 * int64(1+rng.IntN(100))}
	}
	return spans
}

func TestNoTwoLiveBuffersOverlap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var waste float64
	const rounds = 300
	for round := range rounds {
		spans := randomSpans(rng)
		offsets, total := pack(spans)
		end := int64(0)
		for i, s := range spans {
			if offsets[i] < 0 || offsets[i]%64 != 0 {
				t.Fatalf("round %d: offset %d", round, offsets[i])
			}
			end = max(end, offsets[i]+s.bytes)
			for j, o := range spans[:i] {
				if s.meets(o) && offsets[i] < offsets[j]+o.bytes && offsets[j] < offsets[i]+s.bytes {
					t.Fatalf("round %d: %+v at %d and %+v at %d overlap", round, s, offsets[i], o, offsets[j])
				}
			}
		}
		alive := maxAlive(spans)
		if total != end || total < alive {
			t.Fatalf("round %d: total %d, last end %d, at most %d alive", round, total, end, alive)
		}
		waste += float64(total)/float64(alive) - 1
	}
	if waste /= rounds; waste > .1 {
		t.Errorf("%.0f%% more than what is alive at one time, on average", 100*waste)
	}
}

func TestPackingByHand(t *testing.T) {
	for _, c := range []struct {
		name  string
		spans []span
		want  int64
	}{
		{"nothing", nil, 0},
		{"one after the other", []span{{0, 1, 128}, {2, 3, 64}, {4, 9, 128}}, 128},
		{"an input and its output", []span{{0, 1, 64}, {1, 2, 64}, {2, 3, 64}}, 128},
		{"a kept value", []span{{0, forever, 64}, {1, 2, 64}, {3, 4, 64}}, 128},
		{"two small ones beside a large one's successor", []span{{0, 3, 128}, {4, 5, 64}, {4, 5, 64}, {0, 5, 64}}, 192},
	} {
		if _, got := pack(c.spans); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
