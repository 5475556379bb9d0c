package bench

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// drawing is an SVG image.
type drawing struct {
	elements strings.Builder
	width    int
	height   int
}

func newDrawing(width, height int) *drawing {
	d := &drawing{width: width, height: height}
	d.rect(0, 0, float64(width), float64(height), "#ffffff")
	return d
}

func (d *drawing) rect(x, y, width, height float64, colour string) {
	fmt.Fprintf(&d.elements, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, width, height, colour)
}

func (d *drawing) line(x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(&d.elements, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, colour)
}

// text writes a text that starts, ends or has its middle at x.
func (d *drawing) text(x, y float64, anchor string, size int, text string) {
	fmt.Fprintf(&d.elements, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" fill="#111827">`, x, y, anchor, size)
	_ = xml.EscapeText(&d.elements, []byte(text)) // a strings.Builder takes everything
	d.elements.WriteString("</text>\n")
}

func (d *drawing) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif">`+"\n%s</svg>\n",
		d.width, d.height, d.width, d.height, d.elements.String())
	return err
}
