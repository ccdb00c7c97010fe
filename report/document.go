package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/vernier-ml/vernier/eval/plot"
)

//go:embed document.html
var documentText string

// Document is a page of charts and tables in the style of a run's report, of anything.
type Document struct {
	Title, Lead string
	Chapters    []*Chapter
}

// Chapter is a part of a Document.
type Chapter struct {
	Title, Note string
	Table       *Table // nil for none; it stands before the charts

	section section
}

// Table is text in rows and columns. The first cell of a row is its name.
type Table struct {
	Columns []string
	Rows    [][]string
}

// Add draws a chart into the chapter.
func (c *Chapter) Add(f plot.Figure, caption string) error { return c.section.add(f, caption) }

// figures are the chapter's charts.
func (c *Chapter) Charts() []figure { return c.section.Figures }

// Write writes the page.
func (d *Document) Write(w io.Writer) error {
	t, err := template.New("document").Funcs(template.FuncMap{
		"anchor": func(i int) string { return fmt.Sprintf("chapter-%d", i+1) },
	}).Parse(documentText)
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		*Document
		Style template.CSS
	}{d, template.CSS(styleText)})
}
