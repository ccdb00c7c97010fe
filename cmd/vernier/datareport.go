package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
)

// most is how many entries of a list are printed; --json has them all.
const most = 20

// printReport writes what data check found for a person to read.
func printReport(w io.Writer, r *data.Report) error {
	fmt.Fprintf(w, "%s: %s of %s\n", r.Set, plural.Of(r.Images, "image"), plural.Of(r.Classes, "class"))
	if r.Published != nil {
		verdict := "the same is here"
		if *r.Published != *r.Found {
			verdict = "here are " + counts(*r.Found)
		}
		fmt.Fprintf(w, "published are %s; %s\n", counts(*r.Published), verdict)
	}
	if r.SharedClasses {
		fmt.Fprintln(w, "its own split divides the images of every class, not the classes, and is not used")
	}
	if r.TrainClasses > 0 {
		fmt.Fprintf(w, "split (%s): %s of %s for training, %d of %s for testing\n", r.Split, plural.Of(r.TrainImages, "image"), plural.Of(r.TrainClasses, "class"), r.TestImages, plural.Of(r.TestClasses, "other"))
	}
	if r.MaxWidth > 0 {
		fmt.Fprintf(w, "images are %d to %d pixels wide and %d to %d high\n", r.MinWidth, r.MaxWidth, r.MinHeight, r.MaxHeight)
	}
	printHistogram(w, r.Histogram)
	printList(w, "unreadable:", len(r.Bad), func(i int) string { return r.Bad[i].Path + ": " + r.Bad[i].Reason })
	printList(w, "same picture:", len(r.Duplicates), func(i int) string {
		d := r.Duplicates[i]
		across := map[string]string{"class": "in one class", "classes": "in several classes", "splits": "in training and test"}[d.Across]
		return across + ": " + strings.Join(d.Paths, ", ")
	})
	printList(w, "box beyond:", len(r.Beyond), func(i int) string { return r.Beyond[i].Path + ": " + r.Beyond[i].Reason })
	printList(w, "warning:", len(r.Warnings), func(i int) string { return r.Warnings[i] })
	printList(w, "problem:", len(r.Problems), func(i int) string { return r.Problems[i] })
	if r.OK() {
		_, err := fmt.Fprintln(w, "nothing is wrong")
		return err
	}
	return nil
}

func counts(p data.Published) string {
	s := fmt.Sprintf("%s of %s and %s of %d", plural.Of(p.TrainImages, "training image"), plural.Of(p.TrainClasses, "class"), plural.Of(p.TestImages, "test image"), p.TestClasses)
	if p.Query > 0 || p.Gallery > 0 {
		s += fmt.Sprintf(" (%s, %d in the gallery)", plural.Of(p.Query, "query"), p.Gallery)
	}
	return s
}

// printHistogram sums up how many images the classes have: the extremes by name,
// and how many classes lie between powers of two.
func printHistogram(w io.Writer, h []data.ClassCount) {
	if len(h) == 0 {
		return
	}
	h = slices.Clone(h)
	slices.SortStableFunc(h, func(a, b data.ClassCount) int { return cmp.Compare(a.Images, b.Images) })
	least, largest := h[0], h[len(h)-1]
	if least.Images == largest.Images {
		fmt.Fprintf(w, "every class has %s\n", plural.Of(least.Images, "image"))
		return
	}
	sum := 0
	for _, c := range h {
		sum += c.Images
	}
	fmt.Fprintf(w, "images a class: %d (%s) to %d (%s), median %d, mean %.1f\n",
		least.Images, nametext.Show(least.Class), largest.Images, nametext.Show(largest.Class), h[len(h)/2].Images, float64(sum)/float64(len(h)))
	for low := 1; len(h) > 0; low *= 2 {
		n := 0
		for n < len(h) && h[n].Images < 2*low {
			n++
		}
		if n > 0 {
			span := fmt.Sprintf("%d to %d", low, 2*low-1)
			if low == 1 {
				span = "1"
			}
			fmt.Fprintf(w, "  %-14s %s\n", span, plural.Of(n, "class"))
		}
		h = h[n:]
	}
}

func printList(w io.Writer, what string, n int, line func(i int) string) {
	for i := range min(n, most) {
		fmt.Fprintf(w, "%s %s\n", what, nametext.Show(line(i)))
	}
	if n > most {
		fmt.Fprintf(w, "%s and %d more, see --json\n", what, n-most)
	}
}

// printKinds lists what --data takes, wrapped at 78 columns.
func printKinds(w io.Writer) error {
	const columns = 78
	for _, k := range data.List() {
		fmt.Fprintln(w, k.Usage)
		line := "   "
		for word := range strings.FieldsSeq(k.Summary) {
			if len(line)+1+len(word) > columns {
				fmt.Fprintln(w, line)
				line = "   "
			}
			line += " " + word
		}
		fmt.Fprintln(w, line)
	}
	_, err := fmt.Fprintln(w, "\nPATH may be a folder or an archive (.zip, .tar, .tgz, .tar.bz2)\nthat is read in place.\nvernier data get fetches some of these sets, vernier data make emoji makes one.")
	return err
}
