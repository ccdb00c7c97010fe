package nearest

import "testing"

func TestNearestName(t *testing.T) {
	names := []string{"conv1.weight", "conv2.weight", "bn1.running_mean"}
	for name, want := range map[string]string{
		"conv1.wieght": "conv1.weight", "conv2.weigh": "conv2.weight", "bn1.running_men": "bn1.running_mean", "something.else": "", "": "",
		"bn1": "bn1.running_mean", "conv": "", "c": "", // of several none
	} {
		if got, ok := Of(name, names); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := Hint("epochz", []string{"epochs", "steps"}) + Hint("cub", []string{"csv"}) + Hint("x", []string{"epochs"}); got != "; did you mean epochs?" {
		t.Errorf("hint %q", got)
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"flaw", "lawn", 2}} {
		if got := distance(c.a, c.b, 100); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
