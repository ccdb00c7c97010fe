package rerank

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/metric"
)

// Method is a way of re-ranking with its constants.
type Method interface {
	// String is what Parse reads.
	String() string
	// Retrieve ranks the gallery for every query as eval.Retrieve does, in the new order.
	Retrieve(ctx context.Context, eng eval.Engine, queries, gallery *eval.Embeddings, m metric.Metric, opt eval.RetrievalOptions) (*eval.Retrieval, error)
	// Nearest finds the first gallery rows of the new order for every query, with their
	// distances by the metric.
	Nearest(ctx context.Context, eng eval.Engine, queries, gallery *eval.Embeddings, m metric.Metric, count int, opt eval.SearchOptions) (*eval.NeighborList, error)
}

// Candidates is among how many nearest rows KReciprocal.Nearest looks.
const Candidates = 200

// Names are those that Parse knows.
const (
	KReciprocalName    = "k-reciprocal"
	QueryExpansionName = "alpha-qe"
)

// Usage says what Parse reads.
const Usage = "k-reciprocal[:k1=20,k2=6,lambda=0.3] or alpha-qe[:n=10,alpha=3]"

// Parse reads a method with its constants, those left out having the values of Usage.
func Parse(text string) (Method, error) {
	name, rest, _ := strings.Cut(text, ":")
	k, e := KReciprocal{K1: 20, K2: 6, Lambda: .3}, QueryExpansion{N: 10, Alpha: 3}
	whole, real := map[string]*int{}, map[string]*float64{}
	switch name {
	case KReciprocalName:
		whole["k1"], whole["k2"], real["lambda"] = &k.K1, &k.K2, &k.Lambda
	case QueryExpansionName:
		whole["n"], real["alpha"] = &e.N, &e.Alpha
	default:
		return nil, fmt.Errorf("unknown re-ranking %q%s, want %s", name, nearest.Hint(name, []string{KReciprocalName, QueryExpansionName}), Usage)
	}
	if rest != "" {
		for word := range strings.SplitSeq(rest, ",") {
			key, value, _ := strings.Cut(word, "=")
			var err error
			switch key = strings.TrimSpace(key); {
			case whole[key] != nil:
				*whole[key], err = strconv.Atoi(strings.TrimSpace(value))
			case real[key] != nil:
				*real[key], err = strconv.ParseFloat(strings.TrimSpace(value), 64)
			default:
				return nil, fmt.Errorf("re-ranking %q: %s has no constant %q, want %s", text, name, key, Usage)
			}
			if err != nil {
				return nil, fmt.Errorf("re-ranking %q: %s is %q, want a number", text, key, value)
			}
		}
	}
	if name == KReciprocalName {
		return k, k.validate()
	}
	return e, e.validate()
}

func (k KReciprocal) validate() error {
	switch {
	case k.K1 < 1:
		return fmt.Errorf("%s: k1 is %d, want 1 or more", KReciprocalName, k.K1)
	case k.K2 < 1 || k.K2 > k.K1+1:
		return fmt.Errorf("%s: k2 is %d, want 1 to k1 + 1 = %d", KReciprocalName, k.K2, k.K1+1)
	case !(k.Lambda >= 0 && k.Lambda <= 1):
		return fmt.Errorf("%s: lambda is %v, want 0 to 1", KReciprocalName, k.Lambda)
	}
	return nil
}

func (e QueryExpansion) validate() error {
	switch {
	case e.N < 1:
		return fmt.Errorf("%s: n is %d, want 1 or more", QueryExpansionName, e.N)
	case !(e.Alpha >= 0) || math.IsInf(e.Alpha, 1):
		return fmt.Errorf("%s: alpha is %v, want 0 or more", QueryExpansionName, e.Alpha)
	}
	return nil
}

// String returns the method with all its constants.
func (k KReciprocal) String() string {
	return fmt.Sprintf("%s:k1=%d,k2=%d,lambda=%v", KReciprocalName, k.K1, k.K2, k.Lambda)
}

// String returns the method with all its constants.
func (e QueryExpansion) String() string {
	return fmt.Sprintf("%s:n=%d,alpha=%v", QueryExpansionName, e.N, e.Alpha)
}
