package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/run"
)

// Job is a run to be made.
type Job struct {
	// Name is that of its folder: what varies, in short, and a digest of all
	// settings, so that another configuration never takes the folder over.
	Name   string
	Config run.Config
}

// Plan lists the runs of a sweep: all combinations of the axes, and of each all
// folds and seeds. over is laid over the base.
func (f *File) Plan(ctx context.Context, over []run.Setting) ([]Job, error) {
	combinations := [][]run.Setting{nil}
	for _, a := range f.axes {
		var longer [][]run.Setting
		for _, c := range combinations {
			for _, v := range a.values {
				longer = append(longer, append(c[:len(c):len(c)], v...))
			}
		}
		combinations = longer
	}
	var jobs []Job
	seen := map[string]string{}
	for _, c := range combinations {
		for fold := range max(f.Folds, 1) {
			for _, seed := range f.Seeds {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				j, err := f.job(over, c, fold+1, seed)
				if err != nil {
					return nil, err
				}
				key := digest(j.Config)
				if seen[key] != "" {
					return nil, fmt.Errorf("%s: the runs %s and %s have the same settings", f.Name, seen[key], j.Name)
				}
				seen[key] = j.Name
				jobs = append(jobs, *j)
			}
		}
	}
	return jobs, nil
}

// job is one run.
func (f *File) job(over, varied []run.Setting, fold int, seed uint64) (*Job, error) {
	s := &run.Settings{}
	if f.base.Kind != 0 {
		if err := s.AddNode(f.Name, f.base); err != nil {
			return nil, err
		}
	}
	if err := s.Add(over...); err != nil {
		return nil, err
	}
	if err := s.Add(varied...); err != nil {
		return nil, err
	}
	name := slug(varied)
	last := []run.Setting{{Path: "seed", Value: fmt.Sprint(seed), Source: f.Name + ": seeds"}}
	if f.Folds > 0 {
		last = append(last, run.Setting{Path: "data.folds", Value: fmt.Sprint(f.Folds), Source: f.Name + ": folds"},
			run.Setting{Path: "data.fold", Value: fmt.Sprint(fold), Source: f.Name + ": folds"})
		name += fmt.Sprintf("f%d-", fold)
	}
	if err := s.Add(last...); err != nil {
		return nil, err
	}
	cfg, err := s.Config()
	if err != nil {
		return nil, fmt.Errorf("%s: run %ss%d: %w", f.Name, name, seed, err)
	}
	if cfg.Data.Spec == "" {
		return nil, errors.New(f.Name + ": data.spec is missing: say under base which images to train on")
	}
	return &Job{Name: fmt.Sprintf("%ss%d-%s", name, seed, digest(cfg)[:8]), Config: cfg}, nil
}

// digest identifies a configuration.
func digest(cfg run.Config) string {
	sum := sha256.Sum256([]byte(settingsKey(cfg.Values())))
	return hex.EncodeToString(sum[:])
}

// slug makes a part of a file name of values.
func slug(varied []run.Setting) string {
	const longest = 80
	var b strings.Builder
	for _, s := range varied {
		text, _ := s.Value.(string)
		for _, r := range text {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
				b.WriteRune(r)
			} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "_") {
				b.WriteByte('_')
			}
		}
		if b.Len() > longest {
			break
		}
		b.WriteByte('-')
	}
	name := b.String()
	if len(name) > longest {
		name = name[:longest] + "-"
	}
	return name
}

// Order lists the places that the sweep varies, as the file has them, without those
// that have one value in all of its runs.
func (f *File) Order(jobs []Job) []string {
	var order []string
	for _, a := range f.axes {
		for _, v := range a.values {
			for _, s := range v {
				if !slices.Contains(order, s.Path) && varies(jobs, s.Path) {
					order = append(order, s.Path)
				}
			}
		}
	}
	return order
}

// varies reports whether the runs differ at a place or in a part of it.
func varies(jobs []Job, place string) bool {
	first := settingsOf(jobs[0].Config)
	for _, j := range jobs[1:] {
		other := settingsOf(j.Config)
		for _, values := range []map[string]string{first, other} {
			for p := range values {
				if (p == place || strings.HasPrefix(p, place+".")) && first[p] != other[p] {
					return true
				}
			}
		}
	}
	return false
}

// With says of places that an axis Sets together with others from which their values
// follow: those that every entry of the axis Sets. Random draws are not among them,
// nor is a place that two axes set.
func (f *File) With() map[string][]string {
	with, axes := map[string][]string{}, map[string]int{}
	for _, a := range f.axes {
		sets := map[string]int{} // entries that set a place
		var order []string
		for _, v := range a.values {
			for _, s := range v {
				if sets[s.Path]++; sets[s.Path] == 1 {
					order = append(order, s.Path)
				}
			}
		}
		for _, place := range order {
			axes[place]++
			for _, leader := range order {
				if leader != place && sets[leader] == len(a.values) && !a.drawn {
					with[place] = append(with[place], leader)
				}
			}
		}
	}
	for place, n := range axes {
		if n > 1 {
			delete(with, place)
		}
	}
	return with
}
