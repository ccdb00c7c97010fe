package plural

import "testing"

func TestOneThingIsNotSeveral(t *testing.T) {
	for _, c := range []struct {
		n         int
		one, want string
	}{
		{0, "run", "0 runs"}, {1, "run", "1 run"}, {2, "run", "2 runs"}, {1, "test class", "1 test class"}, {3, "test class", "3 test classes"},
		{1, "query", "1 query"}, {3330, "query", "3330 queries"}, {2, "index", "2 indices"},
	} {
		if got := Of(c.n, c.one); got != c.want {
			t.Errorf("%d of %q: %q, want %q", c.n, c.one, got, c.want)
		}
	}
}
