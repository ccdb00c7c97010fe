package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/rerank"
)

// addRerank adds the flag for ways of re-ranking.
func addRerank(fl *pflag.FlagSet, ways *[]string) {
	fl.StringArrayVar(ways, "rerank", nil, "also measure after re-ranking: "+rerank.Usage+"; may be repeated")
}

func parseRerank(texts []string) (list []eval.Reranker, err error) {
	for _, text := range texts {
		way, err := rerank.Parse(text)
		if err != nil {
			return nil, cli.Usagef("--rerank: %w", err)
		}
		list = append(list, way)
	}
	return list, nil
}

// printReranked writes a table of what re-ranking gives, with what it costs.
func printReranked(w io.Writer, name string, f *eval.Figures) error {
	if len(f.Reranked) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s after re-ranking:\n\n", name)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, k := range f.Recall {
		fmt.Fprintf(t, "R@%d\t", k.K)
	}
	fmt.Fprintln(t, "MAP@R\tMAP\tseconds\t")
	for _, r := range f.Reranked {
		fmt.Fprintf(t, "%s\t", r.Method)
		for _, k := range r.Recall {
			fmt.Fprintf(t, "%.1f\t", k.Percent)
		}
		fmt.Fprintf(t, "%.1f\t%.1f\t%.1f\t\n", 100*r.MAPAtR, 100*r.MAP, r.Seconds)
	}
	return t.Flush()
}
