package eval

import "fmt"

// CentreRule says what a cluster's centre is.
type CentreRule uint8

const (
	// CentreMean is the mean of the rows, whatever the metric.
	CentreMean CentreRule = iota
	// CentreOfMetric is the point of smallest summed D^p to the rows, for BRM; it
	// is the mean for every other metric. It is robust as BRM itself: a row with
	// one wild coordinate hardly moves it. Inertia then falls in every iteration.
	CentreOfMetric
)

var centreNames = [...]string{CentreMean: "mean", CentreOfMetric: "metric"}

// String returns mean or metric.
func (c CentreRule) String() string {
	if int(c) < len(centreNames) {
		return centreNames[c]
	}
	return fmt.Sprintf("CentreRule(%d)", uint8(c))
}

// ParseCentreRule is the inverse of String.
func ParseCentreRule(name string) (CentreRule, error) {
	for c, n := range centreNames {
		if n == name {
			return CentreRule(c), nil
		}
	}
	return 0, fmt.Errorf("eval: unknown centre rule %q, want mean or metric", name)
}
