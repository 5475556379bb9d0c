package bench

import (
	"fmt"
	"io"
	"math"

	"github.com/tntsql/tntsql/internal/layout"
)

// The sizes of the plot, in pixels.
const (
	plotWidth = 560.0 // of the bars
	plotLeft  = 250.0
	plotRight = 60.0
	plotTop   = 90.0
	barHeight = 9.0
	barGap    = 14.0 // between groups
)

// The scale is logarithmic, of the throughput beside that of go-tarantool v2.
const (
	leastRatio    = 0.25
	greatestRatio = 8.0
)

const textColour = "#111827"

var ratioMarks = []float64{0.25, 0.5, 1, 2, 4, 8}

// plotted are the contenders in the plot, each with its colour.
var plotted = []struct{ name, colour string }{
	{tntsqlName, "#c2410c"},
	{withDeadline(tntsqlName), "#fb923c"},
	{poolName, "#93c5fd"},
	{preparedName, "#1d4ed8"},
	{v3Name, "#0f766e"},
	{floorName, "#9ca3af"},
}

// bar is a contender's throughput beside go-tarantool v2's.
type bar struct {
	colour string
	ratio  float64
}

func (m *Measurement) bars() (bars []bar) {
	peer := m.contender(v2Name)
	if peer == nil {
		return nil
	}
	for _, p := range plotted {
		if c := m.contender(p.name); c != nil {
			bars = append(bars, bar{p.colour, c.ratio(peer, (*Sample).throughput)})
		}
	}
	return bars
}

// Plot draws the throughput of all beside that of go-tarantool v2 as an SVG: a
// group of bars for each case and number of goroutines.
func (r *Report) Plot(w io.Writer) error {
	height := plotTop + barGap
	for _, m := range r.Measurements {
		height += float64(len(m.bars()))*barHeight + barGap
	}
	d := layout.NewDrawing(int(plotLeft+plotWidth+plotRight), int(height))
	d.Text(12, 24, "start", 16, textColour, "Throughput beside that of "+v2Name+" by text, on Tarantool "+r.Version)
	d.Text(12, 42, "start", 11, textColour, "To the right of 1 is faster; the scale is logarithmic. After the name of each case is how many goroutines run it.")
	legend(d)
	for _, mark := range ratioMarks {
		d.Line(ratioAt(mark), plotTop-4, ratioAt(mark), height-barGap, "#d1d5db")
		d.Text(ratioAt(mark), plotTop-8, "middle", 9, textColour, fmt.Sprintf("%v ×", mark))
	}
	y := plotTop + barGap/2
	for _, m := range r.Measurements {
		bars := m.bars()
		if len(bars) == 0 {
			continue
		}
		d.Text(plotLeft-40, y+float64(len(bars))*barHeight/2+4, "end", 11, textColour, fmt.Sprintf("%s, %d", m.Case.Name, m.Goroutines))
		for _, b := range bars {
			x := ratioAt(b.ratio)
			d.Rect(min(x, ratioAt(1)), y, math.Abs(x-ratioAt(1)), barHeight-1, b.colour, 1)
			if b.ratio < 1 {
				d.Text(x-3, y+barHeight-2, "end", 8, textColour, fmt.Sprintf("%.2f", b.ratio))
			} else {
				d.Text(x+3, y+barHeight-2, "start", 8, textColour, fmt.Sprintf("%.2f", b.ratio))
			}
			y += barHeight
		}
		y += barGap
	}
	d.Line(ratioAt(1), plotTop-4, ratioAt(1), height-barGap, textColour)
	return d.WriteSVG(w)
}

func legend(d *layout.Drawing) {
	x := 12.0
	for _, p := range plotted {
		d.Rect(x, 52, 12, 12, p.colour, 1)
		d.Text(x+17, 62, "start", 11, textColour, p.name)
		x += 32 + 6.2*float64(len(p.name))
	}
}

// ratioAt is where a ratio stands.
func ratioAt(ratio float64) float64 {
	ratio = min(greatestRatio, max(leastRatio, ratio))
	return plotLeft + plotWidth*math.Log(ratio/leastRatio)/math.Log(greatestRatio/leastRatio)
}
