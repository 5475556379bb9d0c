package faults

import (
	"fmt"
	"io"
	"time"

	"github.com/tntsql/tntsql/internal/layout"
)

// The sizes of the plot, in pixels, and its colours.
const (
	panelWidth  = 320
	panelHeight = 110
	marginLeft  = 80
	marginTop   = 76
	gap         = 60

	lineColour = "#1d4ed8"
	gridColour = "#d1d5db"
	textColour = "#111827"
)

// figures are what the plot shows, a row each.
var figures = []struct {
	what string
	of   func(Sample) float64
}{
	{"goroutines", func(s Sample) float64 { return float64(s.Goroutines) }},
	{"file descriptors", func(s Sample) float64 { return float64(s.Files) }},
	{"heap alive, MiB", func(s Sample) float64 { return float64(s.Heap) / (1 << 20) }},
}

// Plot draws goroutines, file descriptors and heap in the course of the load of many
// callers as an SVG: a row a figure, a column a server.
func Plot(w io.Writer, results []*Result) error {
	var ran []*Result
	for _, r := range results {
		if len(r.Course) > 0 {
			ran = append(ran, r)
		}
	}
	d := layout.NewDrawing(marginLeft+max(1, len(ran))*(panelWidth+gap), marginTop+len(figures)*(panelHeight+gap))
	d.Text(12, 24, "start", 16, textColour, fmt.Sprintf("%d goroutines on one sql.DB without a limit of connections", manyCallersCount))
	for column, r := range ran {
		x := float64(marginLeft + column*(panelWidth+gap))
		d.Text(x, 48, "start", 13, textColour, "Tarantool "+r.Server.Version)
		for row, f := range figures {
			draw(d, x, float64(marginTop+row*(panelHeight+gap)), r.Course, f.what, f.of)
		}
	}
	return d.WriteSVG(w)
}

// draw draws one figure, from 0 to a quarter more than the most.
func draw(d *layout.Drawing, x, y float64, course []Sample, what string, of func(Sample) float64) {
	most := 1.0
	for _, s := range course {
		most = max(most, of(s)*1.25)
	}
	length := course[len(course)-1].At
	for _, part := range []float64{0, 0.5, 1} {
		height := y + panelHeight*(1-part)
		d.Line(x, height, x+panelWidth, height, gridColour)
		d.Text(x-5, height+3, "end", 9, textColour, fmt.Sprintf("%.0f", most*part))
	}
	d.Text(x, y-6, "start", 11, textColour, what)
	d.Text(x+panelWidth, y+panelHeight+14, "end", 9, textColour, duration(length))
	var points []layout.Point
	for _, s := range course {
		points = append(points, layout.Point{
			X: x + panelWidth*s.At.Seconds()/length.Seconds(),
			Y: y + panelHeight*(1-of(s)/most),
		})
	}
	d.Polyline(points, lineColour)
}

// duration is how long a load went on.
func duration(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
