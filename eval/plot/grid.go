package plot

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	xdraw "golang.org/x/image/draw"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// GridCell is one picture of a retrieval grid.
type GridCell struct {
	Image   image.Image
	Caption string // the class, cut to fit
	Note    string // a second line, such as the distance
	Right   bool   // of the query's class: framed green, otherwise red
}

// GridRow is a query and its neighbors, nearest first.
type GridRow struct {
	Query     GridCell // framed gray
	Neighbors []GridCell
}

// Measures of a grid in pixels.
const (
	gridCell    = 144 // picture with its frame
	gridFrame   = 6
	gridGap     = 14
	gridCaption = 40 // two lines
	gridMargin  = 20
	gridTitle   = 38
	gridLegend  = 34
	gridApart   = 26 // between the query and its neighbors
)

var (
	rightFrame = color.NRGBA{20, 150, 60, 255}
	wrongFrame = color.NRGBA{205, 30, 30, 255}
	queryFrame = color.NRGBA{110, 110, 110, 255}
)

// Grid draws queries and their nearest neighbors as a PNG file, one row a
// query, framed green where the class is right and red where not (BRM Fig. 9).
// title says how they were found.
func Grid(path, title string, rows []GridRow) error {
	names, err := gridNames()
	var g *image.RGBA
	if err == nil {
		g, err = newGridImage(path, title, rows, names)
	}
	if err != nil {
		return fmt.Errorf("plot: figure %s: %w", path, err)
	}
	if err := names.write(path); err != nil {
		return err
	}
	return wholefile.Write(path, func(w io.Writer) error { return png.Encode(w, g) })
}

// gridImage is a canvas with its fonts.
type gridImage struct {
	*image.RGBA
	regular, bold font.Face
	names         *figureNames
}

func newGridImage(path, title string, rows []GridRow, names *figureNames) (*image.RGBA, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("a grid of no queries")
	}
	cols := 0
	for i, r := range rows {
		if r.Query.Image == nil {
			return nil, fmt.Errorf("query %d has no image", i)
		}
		for j, n := range r.Neighbors {
			if n.Image == nil {
				return nil, fmt.Errorf("neighbor %d of query %d has no image", j, i)
			}
		}
		cols = max(cols, len(r.Neighbors))
	}
	g := &gridImage{names: names}
	var err error
	if g.regular, err = face(goregular.TTF, 14); err != nil {
		return nil, err
	}
	if g.bold, err = face(gobold.TTF, 17); err != nil {
		return nil, err
	}
	width := 2*gridMargin + gridCell + gridApart + max(cols, 3)*(gridCell+gridGap) - gridGap
	height := 2*gridMargin + gridTitle + len(rows)*(gridCell+gridCaption+gridGap) - gridGap + gridLegend
	g.RGBA = image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(g, g.Bounds(), image.White, image.Point{}, draw.Src)
	g.text(g.bold, g.names.of(title), gridMargin, gridMargin+18, width-2*gridMargin)
	for i, r := range rows {
		y := gridMargin + gridTitle + i*(gridCell+gridCaption+gridGap)
		g.cell(r.Query, queryFrame, gridMargin, y)
		for j, n := range r.Neighbors {
			frame := wrongFrame
			if n.Right {
				frame = rightFrame
			}
			g.cell(n, frame, gridMargin+gridCell+gridApart+j*(gridCell+gridGap), y)
		}
	}
	g.legend(height-gridMargin-6, g.names.note(path))
	return g.RGBA, nil
}

// gridNames knows the glyphs of the font of captions.
func gridNames() (*figureNames, error) {
	f, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, err
	}
	return newFigureNames(f), nil
}

func face(ttf []byte, size float64) (font.Face, error) {
	f, err := opentype.Parse(ttf)
	if err != nil {
		return nil, err
	}
	return opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
}

// cell draws a framed picture, whole and centered on light gray, and its caption.
func (g *gridImage) cell(c GridCell, frame color.Color, x, y int) {
	outer := image.Rect(x, y, x+gridCell, y+gridCell)
	inner := outer.Inset(gridFrame)
	draw.Draw(g, outer, image.NewUniform(frame), image.Point{}, draw.Src)
	draw.Draw(g, inner, image.NewUniform(color.Gray{242}), image.Point{}, draw.Src)
	if size := c.Image.Bounds().Size(); size.X > 0 && size.Y > 0 {
		var scaler xdraw.Scaler = xdraw.CatmullRom
		if size.X < inner.Dx() && size.Y < inner.Dy() {
			scaler = xdraw.ApproxBiLinear
		}
		// The canvas itself, not g around it: x/image draws nothing from an
		// image of unknown type onto a destination of unknown type.
		scaler.Scale(g.RGBA, inside(inner, size), c.Image, c.Image.Bounds(), draw.Over, nil)
	}
	g.text(g.regular, g.names.of(c.Caption), x, outer.Max.Y+17, gridCell)
	g.text(g.regular, g.names.of(c.Note), x, outer.Max.Y+34, gridCell)
}

// inside is the largest rectangle of the shape of size in the middle of r.
func inside(r image.Rectangle, size image.Point) image.Rectangle {
	w, h := r.Dx(), r.Dy()
	if size.X*h > size.Y*w {
		h = max(1, w*size.Y/size.X)
	} else {
		w = max(1, h*size.X/size.Y)
	}
	from := r.Min.Add(image.Pt((r.Dx()-w)/2, (r.Dy()-h)/2))
	return image.Rectangle{from, from.Add(image.Pt(w, h))}
}

// text writes one line, cut with an ellipsis to the width.
func (g *gridImage) text(f font.Face, s string, x, baseline, width int) {
	if font.MeasureString(f, s).Ceil() > width {
		runes := []rune(s)
		for len(runes) > 0 && font.MeasureString(f, string(runes)+"…").Ceil() > width {
			runes = runes[:len(runes)-1]
		}
		s = string(runes) + "…"
	}
	d := font.Drawer{Dst: g, Src: image.Black, Face: f, Dot: fixed.P(x, baseline)}
	d.DrawString(s)
}

// legend tells the frames apart; note is added if it is not empty.
func (g *gridImage) legend(baseline int, note string) {
	x := gridMargin
	for _, l := range []struct {
		color color.Color
		text  string
	}{{queryFrame, "query"}, {rightFrame, "same class"}, {wrongFrame, "another class"}} {
		box := image.Rect(x, baseline-12, x+14, baseline+2)
		draw.Draw(g, box, image.NewUniform(l.color), image.Point{}, draw.Src)
		g.text(g.regular, l.text, x+20, baseline, 200)
		x += 20 + font.MeasureString(g.regular, l.text).Ceil() + 26
	}
	if note != "" {
		g.text(g.regular, note, x, baseline, g.Bounds().Dx()-gridMargin-x)
	}
}
