package cuda

import (
	"errors"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/native"
)

func TestTheFirstGPUThatServesIsOpened(t *testing.T) {
	old := native.Device{Name: "old", Major: 6}
	volta := native.Device{Name: "volta", Major: 7}
	hopper := native.Device{Name: "hopper", Major: 9}
	lost := native.Device{Trouble: native.Problem{What: "cuDeviceGetName: error 3"}}
	busy := errors.New("context: error 2")
	for _, c := range []struct {
		name    string
		devices []native.Device
		precise Precision
		busy    int // number of a GPU that does not start; -1 for none
		want    int // that is opened; -1 for none
		passed  []string
	}{
		{"the only one", []native.Device{hopper}, TF32, -1, 0, nil},
		{"an old one and one that cannot be described come first", []native.Device{old, lost, hopper}, TF32, -1, 2,
			[]string{"cuda:0: old has compute capability 6.0, 7.0 (Volta) or later is needed", "cuda:1: cuDeviceGetName: error 3"}},
		{"the first lacks bf16", []native.Device{volta, hopper}, BF16, -1, 1, []string{"cuda:0: volta has compute capability 7.0: bf16 needs 8.0 (Ampere) or later, take tf32"}},
		{"the first does not start", []native.Device{hopper, hopper}, TF32, 0, 1, []string{"cuda:0: context: error 2"}},
		{"none", []native.Device{old}, TF32, -1, -1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			opened := -1
			e, passed, err := first(c.devices, Options{Precision: c.precise, Device: 7}, func(o Options) (*Engine, error) {
				if o.Device == c.busy {
					return nil, busy
				}
				opened = o.Device
				return &Engine{opt: o}, nil
			})
			if (err == nil) != (c.want >= 0) || opened != c.want || (e != nil) != (c.want >= 0) {
				t.Fatalf("opened %d (%v), want %d", opened, err, c.want)
			}
			var got []string
			for _, p := range passed {
				got = append(got, p.Error())
			}
			if !slices.Equal(got, c.passed) {
				t.Errorf("passed %q, want %q", got, c.passed)
			}
		})
	}
}
