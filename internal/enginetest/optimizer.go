package enginetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// The gradients of three steps on two parameters that start at 1 and -2, used
// for all optimizers.
var handWorkedGradients = [3][2]float32{{0.5, -1}, {-0.25, 2}, {1, 0}}

// handWorkedSGD: rate 0.1, decay 0.2, so that d = g + 0.2 w. Momentum 0.5 where
// there is one: v = 0.5 v + d, from v = 0; w moves by -0.1 times
//
//	plain     d: 0.7, -1.4 | -0.25+0.186 = -0.064, 2-0.372 = 1.628 | 1.18728, -0.40456
//	momentum  v: 0.7, -1.4 | 0.35-0.25+0.186 = 0.286, -0.7+2-0.372 = 0.928 |
//	             0.143+1+0.18028 = 1.32328, 0.464-0.39056 = 0.07344
//	nesterov  d + 0.5 v: 0.7+0.35 = 1.05, -1.4-0.7 = -2.1 |
//	             d = -0.25+0.179 = -0.071, 2-0.358 = 1.642; v = 0.35-0.071 = 0.279, -0.7+1.642 = 0.942;
//	             0.0685, 2.113 | d = 1.17763, -0.40026; v = 1.31713, 0.07074; 1.836195, -0.36489
func (s *suite) handWorkedSGD(t *testing.T) {
	for _, c := range []struct {
		spec engine.SGDSpec
		w, v [3][2]float32
	}{
		{
			spec: engine.SGDSpec{},
			w:    [3][2]float32{{0.93, -1.86}, {0.9364, -2.0228}, {0.817672, -1.982344}},
		},
		{
			spec: engine.SGDSpec{Momentum: 0.5},
			w:    [3][2]float32{{0.93, -1.86}, {0.9014, -1.9528}, {0.769072, -1.960144}},
			v:    [3][2]float32{{0.7, -1.4}, {0.286, 0.928}, {1.32328, 0.07344}},
		},
		{
			spec: engine.SGDSpec{Momentum: 0.5, Nesterov: true},
			w:    [3][2]float32{{0.895, -1.79}, {0.88815, -2.0013}, {0.7045305, -1.964811}},
			v:    [3][2]float32{{0.7, -1.4}, {0.279, 0.942}, {1.31713, 0.07074}},
		},
	} {
		w, v := s.parameter(t, 1, -2), engine.Tensor(nil)
		if c.spec.Momentum != 0 {
			v = s.parameter(t, 0, 0)
		}
		for step, g := range handWorkedGradients {
			slot := engine.Slot{Param: w, Grad: s.parameter(t, g[0], g[1]), State: [2]engine.Tensor{v}, Rate: 0.1, Decay: 0.2}
			if err := s.eng.SGD([]engine.Slot{slot}, c.spec); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%+v, step %d", c.spec, step+1)
			s.holds(t, what+", parameters", w, c.w[step])
			if v != nil {
				s.holds(t, what+", momentum", v, c.v[step])
			}
		}
	}
}

// handWorkedAdamW: rate 0.1, decay 0.2 (each step first takes w to 0.98 w),
// beta1 0.5, beta2 0.75, eps 0.5. Then w -= 0.1 (m/(1-0.5^t))/(sqrt(v/(1-0.75^t)) + 0.5):
//
//	t = 1: m = 0.25, -0.5; v = 0.0625, 0.25; corrected by 0.5 and 0.25 to 0.5, -1 and 0.25, 1;
//	       w = 0.98 - 0.1*0.5/1 = 0.93, -1.96 + 0.1*1/1.5 = -1.8933333
//	t = 2: m = 0.125-0.125 = 0, -0.25+1 = 0.75; v = 0.046875+0.015625 = 0.0625, 0.1875+1 = 1.1875;
//	       by 0.75 and 0.4375 to 0, 1 and 0.1428571, 2.7142857 (root 1.6475089);
//	       w = 0.98*0.93 = 0.9114, -1.8554667 - 0.1/2.1475089 = -1.9020322
//	t = 3: m = 0.5, 0.375; v = 0.046875+0.25 = 0.296875, 0.890625; by 0.875 and 0.578125 to
//	       0.5714286, 0.4285714 and 0.5135135 (root 0.7165986), 1.5405405 (root 1.2411851);
//	       w = 0.893172 - 0.05714286/1.2165986 = 0.8462026, -1.8639916 - 0.04285714/1.7411851 = -1.8886054
func (s *suite) handWorkedAdamW(t *testing.T) {
	wantW := [3][2]float32{{0.93, -1.8933333}, {0.9114, -1.9020322}, {0.8462026, -1.8886054}}
	wantM := [3][2]float32{{0.25, -0.5}, {0, 0.75}, {0.5, 0.375}}
	wantV := [3][2]float32{{0.0625, 0.25}, {0.0625, 1.1875}, {0.296875, 0.890625}}
	w, m, v := s.parameter(t, 1, -2), s.parameter(t, 0, 0), s.parameter(t, 0, 0)
	for i, g := range handWorkedGradients {
		slot := engine.Slot{Param: w, Grad: s.parameter(t, g[0], g[1]), State: [2]engine.Tensor{m, v}, Rate: 0.1, Decay: 0.2}
		if err := s.eng.AdamW([]engine.Slot{slot}, engine.AdamWSpec{Beta1: 0.5, Beta2: 0.75, Eps: 0.5, Step: i + 1}); err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("step %d", i+1)
		s.holds(t, what+", parameters", w, wantW[i])
		s.holds(t, what+", first moment", m, wantM[i])
		s.holds(t, what+", second moment", v, wantV[i])
	}
}

// handWorkedAdam: as handWorkedAdamW, but d = g + 0.2 w takes the place of g and w
// is not shrunk:
//
//	t = 1: d = 0.7, -1.4; m = 0.35, -0.7; v = 0.1225, 0.49; corrected 0.7, -1.4 and 0.49, 1.96;
//	       w = 1 - 0.1*0.7/1.2 = 0.9416667, -2 + 0.1*1.4/1.9 = -1.9263158
//	t = 2: d = -0.25+0.1883333 = -0.0616667, 2-0.3852632 = 1.6147368; m = 0.1441667, 0.4573684;
//	       v = 0.091875+0.0009507 = 0.0928257, 0.3675+0.6518438 = 1.0193438
//	t = 3: d = 1.1843313, -0.3912819; m = 0.6642490, 0.0330432; v = 0.4202794, 0.8027832
func (s *suite) handWorkedAdam(t *testing.T) {
	wantW := [3][2]float32{{0.9416667, -1.9263158}, {0.9216565, -1.9564096}, {0.8655329, -1.9586596}}
	wantM := [3][2]float32{{0.35, -0.7}, {0.1441667, 0.4573684}, {0.6642490, 0.0330432}}
	wantV := [3][2]float32{{0.1225, 0.49}, {0.0928257, 1.0193438}, {0.4202794, 0.8027832}}
	w, m, v := s.parameter(t, 1, -2), s.parameter(t, 0, 0), s.parameter(t, 0, 0)
	for i, g := range handWorkedGradients {
		slot := engine.Slot{Param: w, Grad: s.parameter(t, g[0], g[1]), State: [2]engine.Tensor{m, v}, Rate: 0.1, Decay: 0.2}
		if err := s.eng.AdamW([]engine.Slot{slot}, engine.AdamWSpec{Beta1: 0.5, Beta2: 0.75, Eps: 0.5, Step: i + 1, Coupled: true}); err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("step %d", i+1)
		s.holds(t, what+", parameters", w, wantW[i])
		s.holds(t, what+", first moment", m, wantM[i])
		s.holds(t, what+", second moment", v, wantV[i])
	}
}

// handWorkedRMSprop: rate 0.1, decay 0.2 (d = g + 0.2 w), alpha 0.75, eps 0.5:
// v = 0.75 v + 0.25 d^2, u = d/(sqrt v + 0.5), and with momentum 0.5 b = 0.5 b + u.
//
//	t = 1: d = 0.7, -1.4; v = 0.1225, 0.49 (roots 0.35, 0.7); u = 0.7/0.85 = 0.8235294, -1.4/1.2 = -1.1666667;
//	       w = 0.9176471, -1.8833333 either way, b = u
//	t = 2: d = -0.25+0.1835294 = -0.0664706, 2-0.3766667 = 1.6233333; v = 0.0929796, 1.0263028;
//	       u = -0.0664706/0.8049255 = -0.0825798, 1.6233333/1.5130661 = 1.0728767
//	       w = 0.9259050, -1.9906210; with b = 0.3291849, 0.4895434: w = 0.8847286, -1.9322877
//	t = 3: d = 1.1851810, -0.3981242 (with momentum 1.1769457, -0.3864575)
func (s *suite) handWorkedRMSprop(t *testing.T) {
	for _, c := range []struct {
		momentum float32
		w, v, b  [3][2]float32
	}{
		{
			w: [3][2]float32{{0.9176471, -1.8833333}, {0.9259050, -1.9906210}, {0.8227352, -1.9621763}},
			v: [3][2]float32{{0.1225, 0.49}, {0.0929796, 1.0263028}, {0.4208982, 0.8093528}},
		},
		{
			momentum: 0.5,
			w:        [3][2]float32{{0.9176471, -1.8833333}, {0.8847286, -1.9322877}, {0.7654800, -1.9291285}},
			v:        [3][2]float32{{0.1225, 0.49}, {0.0929796, 1.0263028}, {0.4160350, 0.8070644}},
			b:        [3][2]float32{{0.8235294, -1.1666667}, {0.3291849, 0.4895434}, {1.1924857, -0.0315916}},
		},
	} {
		w, v, b := s.parameter(t, 1, -2), s.parameter(t, 0, 0), engine.Tensor(nil)
		if c.momentum != 0 {
			b = s.parameter(t, 0, 0)
		}
		for i, g := range handWorkedGradients {
			slot := engine.Slot{Param: w, Grad: s.parameter(t, g[0], g[1]), State: [2]engine.Tensor{v, b}, Rate: 0.1, Decay: 0.2}
			if err := s.eng.RMSprop([]engine.Slot{slot}, engine.RMSpropSpec{Alpha: 0.75, Eps: 0.5, Momentum: c.momentum}); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("momentum %v, step %d", c.momentum, i+1)
			s.holds(t, what+", parameters", w, c.w[i])
			s.holds(t, what+", mean square", v, c.v[i])
			if b != nil {
				s.holds(t, what+", buffer", b, c.b[i])
			}
		}
	}
}

func (s *suite) parameter(t *testing.T, a, b float32) engine.Tensor {
	t.Helper()
	x, err := newTensor(s.eng, array{[]int{2}, []float32{a, b}})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (s *suite) holds(t *testing.T, what string, x engine.Tensor, want [2]float32) {
	t.Helper()
	got, err := numbers(s.eng, x)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if math.Abs(float64(got[i]-w)) > 5e-7 {
			t.Errorf("%s: element %d is %v, want %v", what, i, got[i], w)
		}
	}
}
