package bench

import (
	"fmt"
	"io"
	"math"
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
	d := newDrawing(int(plotLeft+plotWidth+plotRight), int(height))
	d.text(12, 24, "start", 16, "Throughput beside that of "+v2Name+" by text, on Tarantool "+r.Version)
	d.text(12, 42, "start", 11, "To the right of 1 is faster; the scale is logarithmic. After the name of each case is how many goroutines run it.")
	d.legend()
	for _, mark := range ratioMarks {
		d.line(ratioAt(mark), plotTop-4, ratioAt(mark), height-barGap, "#d1d5db")
		d.text(ratioAt(mark), plotTop-8, "middle", 9, fmt.Sprintf("%v ×", mark))
	}
	y := plotTop + barGap/2
	for _, m := range r.Measurements {
		bars := m.bars()
		if len(bars) == 0 {
			continue
		}
		d.text(plotLeft-40, y+float64(len(bars))*barHeight/2+4, "end", 11, fmt.Sprintf("%s, %d", m.Case.Name, m.Goroutines))
		for _, b := range bars {
			x := ratioAt(b.ratio)
			d.rect(min(x, ratioAt(1)), y, math.Abs(x-ratioAt(1)), barHeight-1, b.colour)
			if b.ratio < 1 {
				d.text(x-3, y+barHeight-2, "end", 8, fmt.Sprintf("%.2f", b.ratio))
			} else {
				d.text(x+3, y+barHeight-2, "start", 8, fmt.Sprintf("%.2f", b.ratio))
			}
			y += barHeight
		}
		y += barGap
	}
	d.line(ratioAt(1), plotTop-4, ratioAt(1), height-barGap, "#111827")
	return d.write(w)
}

func (d *drawing) legend() {
	x := 12.0
	for _, p := range plotted {
		d.rect(x, 52, 12, 12, p.colour)
		d.text(x+17, 62, "start", 11, p.name)
		x += 32 + 6.2*float64(len(p.name))
	}
}

// ratioAt is where a ratio stands.
func ratioAt(ratio float64) float64 {
	ratio = min(greatestRatio, max(leastRatio, ratio))
	return plotLeft + plotWidth*math.Log(ratio/leastRatio)/math.Log(greatestRatio/leastRatio)
}
