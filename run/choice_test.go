package run

import "testing"

// Of an epoch's two models the one with the higher MAP@R may be the best, among equals the one
// with averaged weights, as without validation classes.
func TestTheBetterModelOfAnEpochMayBeTheBest(t *testing.T) {
	for _, c := range []struct {
		r        EpochRecord
		recall1  float64
		mapAtR   float64
		averaged bool
	}{
		{EpochRecord{Recall1: 50, MAPAtR: 20}, 50, 20, false},
		{EpochRecord{Recall1: 50, MAPAtR: 20, EMA: &EMARecord{Recall1: 60, MAPAtR: 19}}, 50, 20, false},
		{EpochRecord{Recall1: 50, MAPAtR: 20, EMA: &EMARecord{Recall1: 40, MAPAtR: 21}}, 40, 21, true},
		{EpochRecord{Recall1: 50, MAPAtR: 20, EMA: &EMARecord{Recall1: 40, MAPAtR: 20}}, 40, 20, true},
		{EpochRecord{Recall1: -1, MAPAtR: -1, EMA: &EMARecord{Recall1: -1, MAPAtR: -1}}, -1, -1, true},
	} {
		if recall1, mapAtR, averaged := c.r.Candidate(); recall1 != c.recall1 || mapAtR != c.mapAtR || averaged != c.averaged {
			t.Errorf("%+v with %+v: %v, %v, averaged %v", c.r, c.r.EMA, recall1, mapAtR, averaged)
		}
	}
}
