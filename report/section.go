package report

import (
	"html/template"

	"github.com/vernier-ml/vernier/eval/plot"
)

// section is a part of the page that holds charts.
type section struct {
	ID, Title, Note string
	Figures         []figure
}

// figure is a chart and what is written below it.
type figure struct {
	SVG     template.HTML
	Caption string
}

// add draws a figure into the section.
func (s *section) add(f plot.Figure, caption string) error {
	svg, err := plot.SVG(f)
	if err != nil {
		return err
	}
	// All names in the drawing are escaped by SVG.
	s.Figures = append(s.Figures, figure{template.HTML(svg), caption})
	return nil
}
