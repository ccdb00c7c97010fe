package progress

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestWorkTellsTenTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		w := New(t.Context(), func(what string, done, total int) { told = append(told, fmt.Sprintf("%s %d/%d", what, done, total)) })
		for i := range 8 {
			if err := w.Step("a", i, 0); err != nil {
				t.Fatal(err)
			}
			time.Sleep(40 * time.Millisecond)
		}
		w.End("a", 8)
		w.End("b", 1) // which was never reported
		if want := []string{"a 3/0", "a 6/0", "a 8/8"}; !slices.Equal(told, want) {
			t.Errorf("%q", told)
		}
	})
}
