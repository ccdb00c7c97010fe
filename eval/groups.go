package eval

import (
	"slices"
	"strconv"
)

// GroupFigures are the figures of the queries of one class or super-class,
// ranked against the whole gallery like all others.
type GroupFigures struct {
	Name    string `json:"name"`
	Classes int    `json:"classes,omitempty"` // of a super-class
	Queries int    `json:"queries"`           // lone ones included
	// LoneQueries are as in Figures: misses in recall, left out of the rest.
	LoneQueries int     `json:"lone_queries"`
	RecallAt1   float64 `json:"recall@1"` // in percent
	// AverageFigures is nil where every query is lone.
	*AverageFigures
}

// MacroFigures are the figures of super-classes. A right answer is one of the
// query's class all the same, not of its super-class.
type MacroFigures struct {
	Groups []GroupFigures `json:"groups"` // by name
	// Mean gives every super-class the same weight, those left out whose every
	// query is lone.
	Mean AverageFigures `json:"mean"`
	// RecallAt1 is the mean of all super-classes in percent.
	RecallAt1 float64 `json:"recall@1"`
}

// groups sets the figures of classes and super-classes that are asked for.
func (f *Figures) groups(r *Retrieval, labels []int, opt Options) {
	name := opt.ClassName
	if name == nil {
		name = strconv.Itoa
	}
	if opt.PerClass {
		class, distinct := Compact(labels)
		f.PerClass = r.groupFigures(class, len(distinct))
		for i, l := range distinct {
			f.PerClass[i].Name = name(l)
		}
	}
	if opt.Super != nil {
		f.SuperClasses = r.macro(labels, opt.Super)
	}
}

// groupFigures needs groups numbered from 0 with no number left out.
func (r *Retrieval) groupFigures(group []int, count int) []GroupFigures {
	means, counts, _ := r.GroupAverages(group)
	figures := make([]GroupFigures, count)
	for q, g := range group {
		figures[g].Queries++
		if r.FirstRank[q] == 1 {
			figures[g].RecallAt1++
		}
	}
	for g := range figures {
		f := &figures[g]
		f.RecallAt1 *= 100 / float64(f.Queries)
		f.LoneQueries = f.Queries - counts[g]
		if counts[g] > 0 {
			a := AverageFigures(means[g])
			f.AverageFigures = &a
		}
	}
	return figures
}

func (r *Retrieval) macro(labels []int, super func(label int) string) *MacroFigures {
	class, distinct := Compact(labels)
	of := make([]string, len(distinct)) // the super-class of each class
	for c, l := range distinct {
		of[c] = super(l)
	}
	names := slices.Clone(of)
	slices.Sort(names)
	names = slices.Compact(names)
	group, classes := make([]int, len(of)), make([]int, len(names))
	for c, name := range of {
		group[c], _ = slices.BinarySearch(names, name)
		classes[group[c]]++
	}
	queries := make([]int, len(labels))
	for q, c := range class {
		queries[q] = group[c]
	}
	m := &MacroFigures{Groups: r.groupFigures(queries, len(names))}
	var sum sumOf
	for g := range m.Groups {
		f := &m.Groups[g]
		f.Name, f.Classes = names[g], classes[g]
		m.RecallAt1 += f.RecallAt1 / float64(len(names))
		if f.AverageFigures != nil {
			sum.add(Averages(*f.AverageFigures), true)
		}
	}
	m.Mean = AverageFigures(sum.mean())
	return m
}
