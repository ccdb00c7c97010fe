package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/vernier-ml/vernier/eval"
)

// superRates are what verify measures of the identities of one super-class among each
// other: different pairs are then of the same kind of thing, and harder.
type superRates struct {
	Name       string `json:"name"`
	Identities int    `json:"identities"`
	Same       int    `json:"same_pairs"`
	Different  int    `json:"different_pairs"`
	// AUC, EER and the rates at the threshold are nil where there is one kind of pair only.
	AUC *float64 `json:"auc,omitempty"`
	EER *float64 `json:"eer,omitempty"`
	FAR *float64 `json:"far,omitempty"`
	FRR *float64 `json:"frr,omitempty"`
}

// bySuper measures rows by their super-classes, in the order of their names; threshold is
// nil for none.
func (s *pairSource) bySuper(rows []int, threshold *float64) (list []superRates, err error) {
	of := map[string][]int{}
	for _, r := range rows {
		of[s.super[r]] = append(of[s.super[r]], r)
	}
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		d, identities, err := s.distances(of[name])
		if err != nil {
			return nil, fmt.Errorf("super-class %s: %w", name, err)
		}
		r := superRates{Name: name, Identities: len(identities), Same: len(d.Intra), Different: len(d.Inter)}
		if r.Same > 0 && r.Different > 0 {
			roc, err := d.ROC()
			if err != nil {
				return nil, err
			}
			v := roc.Verification()
			r.AUC, r.EER = &v.AUC, &v.EER
			if threshold != nil {
				at := roc.Figures(roc.At(*threshold))
				r.FAR, r.FRR = &at.FAR, &at.FRR
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// distances measures the pairs of some rows, and lists their identities.
func (s *pairSource) distances(rows []int) (*eval.PairDistances, []string, error) {
	ids, opt := make([]string, len(rows)), s.opt
	for i, r := range rows {
		ids[i] = s.identity[r]
		if s.groups != nil {
			opt.Groups = append(opt.Groups, s.groups[r])
		}
	}
	slices.Sort(ids)
	d, err := eval.SamplePairs(s.rows.Select(rows), s.metric, opt)
	return d, slices.Compact(ids), err
}

func printSuper(w io.Writer, list []superRates) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\namong the identities of each super-class:")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "super-class\tidentities\tsame\tdifferent\tAUC\tEER\tFAR\tFRR\t")
	rate := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return rateText(*v)
	}
	for _, r := range list[:min(len(list), superRows)] {
		auc := "-"
		if r.AUC != nil {
			auc = fmt.Sprintf("%.4f", *r.AUC)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t\n", r.Name, r.Identities, r.Same, r.Different, auc, rate(r.EER), rate(r.FAR), rate(r.FRR))
	}
	if more := len(list) - superRows; more > 0 {
		fmt.Fprintf(t, "%d more in --json\t\n", more)
	}
	return t.Flush()
}
