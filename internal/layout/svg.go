// Package layout draws and lays out what the reports of this repository show.
package layout

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Drawing is an SVG image.
type Drawing struct {
	elements strings.Builder
	width    int
	height   int
}

// Point is a point of it, in pixels.
type Point struct{ X, Y float64 }

// NewDrawing is an empty white image, its sizes in pixels.
func NewDrawing(width, height int) *Drawing {
	d := &Drawing{width: width, height: height}
	d.Rect(0, 0, float64(width), float64(height), "#ffffff", 1)
	return d
}

// Rect draws a rectangle, by its upper left corner.
func (d *Drawing) Rect(x, y, width, height float64, colour string, opacity float64) {
	fmt.Fprintf(&d.elements, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity="%.2f"/>`+"\n",
		x, y, width, height, colour, opacity)
}

// Line draws a line from one point to another.
func (d *Drawing) Line(x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(&d.elements, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, colour)
}

// Polyline draws a line through points, of which there may be none.
func (d *Drawing) Polyline(points []Point, colour string) {
	switch len(points) {
	case 0:
		return
	case 1: // would be invisible
		points = append(points, Point{points[0].X + 1.5, points[0].Y})
	}
	fmt.Fprintf(&d.elements, `<polyline fill="none" stroke="%s" stroke-width="1.2" points="`, colour)
	for _, p := range points {
		fmt.Fprintf(&d.elements, "%.1f,%.1f ", p.X, p.Y)
	}
	d.elements.WriteString(`"/>` + "\n")
}

// Text writes a text that starts, ends or has its middle at x.
func (d *Drawing) Text(x, y float64, anchor string, size int, colour, text string) {
	fmt.Fprintf(&d.elements, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" fill="%s">`, x, y, anchor, size, colour)
	_ = xml.EscapeText(&d.elements, []byte(text)) // a strings.Builder takes everything
	d.elements.WriteString("</text>\n")
}

// WriteSVG writes the image as a file.
func (d *Drawing) WriteSVG(w io.Writer) error {
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif">`+"\n%s</svg>\n",
		d.width, d.height, d.width, d.height, d.elements.String())
	return err
}
