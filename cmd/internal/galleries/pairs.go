package galleries

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/serve/page"
)

// pairsReport is what pairs says.
type pairsReport struct {
	Out       string `json:"out"`
	Marks     int    `json:"marks"`
	Pairs     int    `json:"pairs"`
	Same      int    `json:"same"`
	Different int    `json:"different"`
	// Revised marks were followed by another one of the same pair, which counts.
	Revised int `json:"revised"`
	// Elsewhere are marks of images that are not in the gallery, or have no path there.
	Elsewhere int `json:"elsewhere"`
}

func (c *command) pairs() *cobra.Command {
	f := &placeFlags{}
	var marks, out string
	var force bool
	cmd := &cobra.Command{
		Use:   "pairs --in ADDRESS --marks FILE --out FILE",
		Short: "Make a file of pairs of the marks that the page of serve keeps",
		Long: `Make a CSV file of pairs of the marks right and wrong that people have made on the page of
vernier serve: with the columns a and b, paths of the image that was searched for and of
the one that was found, and same, 1 for right and 0 for wrong. vernier train --pairs trains
on it, vernier verify --pairs measures by it, and vernier data check --pairs says whether
marks contradict each other.

--in is the gallery that was searched: it has the paths. An image that was searched for and
is not in the gallery has none; its marks are left out. Of several marks of one pair the
last counts, whichever of the two images was searched for.`,
		Example: `  vernier gallery pairs --in birds.index --marks runs/birds/marks.jsonl --out pairs.csv
  vernier train --data folder:photos --labels none --pairs pairs.csv --weights runs/birds/best.safetensors --out runs/marked`,
		Args: cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if marks == "" || out == "" {
				return cli.Usagef("--marks and --out are needed: the file of marks, and the file of pairs to write")
			}
			if _, err := os.Stat(out); err == nil && !force {
				return fmt.Errorf("file %s already exists (--force replaces it)", out)
			}
			list, err := readMarks(marks)
			if err != nil {
				return err
			}
			s, err := f.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			r := pairsReport{Out: out, Marks: len(list)}
			rows, err := r.pair(cmd.Context(), s, list)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return fmt.Errorf("%s: none of %s is of two images of the gallery %s", marks, plural.Of(len(list), "mark"), f.in[0])
			}
			if err := wholefile.Write(out, func(w io.Writer) error {
				return csv.NewWriter(w).WriteAll(append([][]string{{"a", "b", "same"}}, rows...))
			}); err != nil {
				return err
			}
			if f.asJSON {
				return cli.WriteJSON(cmd.OutOrStdout(), r)
			}
			return r.print(cmd.OutOrStdout())
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&marks, "marks", "", "`FILE` of marks, as vernier serve keeps them: RUN/marks.jsonl, or what its --marks names")
	cmd.Flags().StringVar(&out, "out", "", "CSV `FILE` of pairs to write")
	cmd.Flags().BoolVar(&force, "force", false, "replace --out if it exists")
	return cmd
}

func (r pairsReport) print(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s of %s, %d the same and %d different\n", r.Out, plural.Of(r.Pairs, "pair"), plural.Of(r.Marks, "mark"), r.Same, r.Different)
	if r.Revised > 0 {
		fmt.Fprintf(w, "marked again, the last mark counts: %s\n", plural.Of(r.Revised, "mark"))
	}
	if r.Elsewhere > 0 {
		fmt.Fprintf(w, "left out, of images that the gallery does not have or has no path of: %s\n", plural.Of(r.Elsewhere, "mark"))
	}
	return nil
}

// readMarks reads a file of marks. A last line that is cut off is passed over, as the page
// cuts it off.
func readMarks(name string) ([]page.Mark, error) {
	text, err := wholefile.Read(name)
	if err != nil {
		return nil, err
	}
	var list []page.Mark
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var m page.Mark
		if err := json.Unmarshal(line, &m); err != nil {
			if rest := text[bytes.LastIndexByte(text, '\n')+1:]; bytes.Equal(bytes.TrimSpace(rest), line) && line[0] == '{' {
				break
			}
			return nil, fmt.Errorf("%s line %d: this is no mark of vernier serve: %w", name, n, err)
		}
		if m.Query == "" || m.Key == "" {
			return nil, fmt.Errorf("%s line %d: this is no mark of vernier serve: it has no query or no key", name, n)
		}
		list = append(list, m)
	}
	if len(list) == 0 {
		return nil, errors.Join(fmt.Errorf("%s holds no marks", name), lines.Err())
	}
	return list, lines.Err()
}

// pair makes lines of the file of marks, in the order in which the pairs were first marked.
func (r *pairsReport) pair(ctx context.Context, s gallery.Store, list []page.Mark) ([][]string, error) {
	var keys []string
	for _, m := range list {
		keys = append(keys, m.Query, m.Key)
	}
	known, err := s.Known(ctx, distinct(keys))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	at := map[[2]string]int{}
	for _, m := range list {
		a, b := known[m.Query].Path, known[m.Key].Path
		if a == "" || b == "" || m.Query == m.Key {
			r.Elsewhere++
			continue
		}
		same := "0"
		if m.Right {
			same = "1"
		}
		pair := [2]string{min(a, b), max(a, b)}
		if i, ok := at[pair]; ok {
			rows[i][2] = same
			r.Revised++
			continue
		}
		at[pair] = len(rows)
		rows = append(rows, []string{a, b, same})
	}
	r.Pairs = len(rows)
	for _, row := range rows {
		if row[2] == "1" {
			r.Same++
		} else {
			r.Different++
		}
	}
	return rows, nil
}
