package failover

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/tntsql/tntsql/internal/layout"
)

// The sizes of the plot, in pixels.
const (
	panelWidth  = 340
	panelHeight = 96
	marginLeft  = 220
	marginTop   = 96
	columnGap   = 60 // holds the marks of the next axis
	rowGap      = 36
)

// The colours of the plot.
const (
	writeColour = "#c2410c"
	readColour  = "#1d4ed8"
	poolColour  = "#9ca3af"
	eventColour = "#f3f4f6"
	textColour  = "#111827"
	lineColour  = "#d1d5db"
	failColour  = "#dc2626"
)

// The scale of durations is logarithmic.
const (
	shortest = time.Millisecond
	longest  = 30 * time.Second
)

var durationMarks = []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second}

// Plot draws the course of every run as an SVG: a row a scenario, a column a
// server.
func Plot(w io.Writer, results []*Result) error {
	ran, _ := sorted(results)
	var names, servers []string
	for _, r := range ran {
		if !slices.Contains(names, r.Scenario.Name) {
			names = append(names, r.Scenario.Name)
		}
		if !slices.Contains(servers, r.Server.Version) {
			servers = append(servers, r.Server.Version)
		}
	}
	d := layout.NewDrawing(marginLeft+len(servers)*(panelWidth+columnGap), marginTop+len(names)*(panelHeight+rowGap))
	legend(d)
	for i, server := range servers {
		d.Text(columnAt(i), marginTop-12, "start", 13, textColour, "Tarantool "+server)
	}
	for i, name := range names {
		d.Text(12, rowAt(i)+14, "start", 13, textColour, name)
	}
	for _, r := range ran {
		x, y := columnAt(slices.Index(servers, r.Server.Version)), rowAt(slices.Index(names, r.Scenario.Name))
		p := panel{d, r.Driver.Timeline.span, x, y}
		p.draw(r)
	}
	return d.WriteSVG(w)
}

func columnAt(i int) float64 { return marginLeft + float64(i*(panelWidth+columnGap)) }

func rowAt(i int) float64 { return marginTop + float64(i*(panelHeight+rowGap)) }

func legend(d *layout.Drawing) {
	d.Text(12, 24, "start", 16, textColour, "Pauses of writes and the p99 of reads, in the course of each scenario")
	d.Text(12, 66, "start", 11, textColour, "Upwards: how long, on a logarithmic scale. To the right: the time of the load.")
	x := 12.0
	for _, entry := range []struct{ colour, what string }{
		{writeColour, "pause of writes (as high as it is long)"},
		{readColour, "p99 of reads, each 100 ms"},
		{poolColour, "the same of go-tarantool's pool"},
		{eventColour, "disturbance"},
	} {
		d.Rect(x, 36, 12, 12, entry.colour, 1)
		d.Text(x+17, 46, "start", 11, textColour, entry.what)
		x += 34 + 6.2*float64(len(entry.what))
	}
}

// panel is the plot of one run.
type panel struct {
	*layout.Drawing
	time span
	x, y float64 // of its upper left corner
}

func (p *panel) draw(r *Result) {
	for _, e := range r.Events {
		p.Rect(p.at(e.from), p.y, p.at(e.to)-p.at(e.from), panelHeight, eventColour, 1)
	}
	p.axes()
	if r.Pool != nil {
		p.pauses(r.Pool.Timeline, poolColour)
		p.reads(r.Pool.Timeline, poolColour)
	}
	p.pauses(r.Driver.Timeline, writeColour)
	p.reads(r.Driver.Timeline, readColour)
	if !r.OK() {
		p.Text(p.x+panelWidth, p.y-4, "end", 11, failColour, "FAIL")
	}
}

func (p *panel) axes() {
	for _, mark := range durationMarks {
		y := p.height(mark)
		p.Line(p.x, y, p.x+panelWidth, y, lineColour)
		p.Text(p.x-5, y+3, "end", 9, textColour, markText(mark))
	}
	step := secondsStep(p.time.length())
	for at := time.Duration(0); at <= p.time.length(); at += step {
		x := p.at(p.time.from + at)
		p.Line(x, p.y+panelHeight, x, p.y+panelHeight+4, textColour)
		p.Text(x, p.y+panelHeight+14, "middle", 9, textColour, fmt.Sprintf("%d s", int(at.Seconds())))
	}
}

func markText(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}

// secondsStep is the distance of marks on the axis of time.
func secondsStep(length time.Duration) time.Duration {
	for _, step := range []time.Duration{1, 2, 5, 10, 20} {
		if length <= 9*step*time.Second {
			return step * time.Second
		}
	}
	return time.Minute
}

func (p *panel) pauses(l Timeline, colour string) {
	for _, pause := range l.Pauses {
		x, y := p.at(pause.from), p.height(pause.length())
		p.Rect(x, y, max(1.5, p.at(pause.to)-x), p.y+panelHeight-y, colour, 0.75)
	}
}

func (p *panel) reads(l Timeline, colour string) {
	var points []layout.Point
	for i, p99 := range l.Reads {
		at := p.at(l.from + time.Duration(i)*tick + tick/2)
		if p99 > 0 {
			points = append(points, layout.Point{X: at, Y: p.height(p99)})
			continue
		}
		p.Polyline(points, colour) // no read ended: the line is broken
		points = nil
	}
	p.Polyline(points, colour)
}

// at is where a time stands.
func (p *panel) at(t time.Duration) float64 {
	part := float64(t-p.time.from) / float64(p.time.length())
	return p.x + panelWidth*min(1, max(0, part))
}

// height is where a duration stands.
func (p *panel) height(d time.Duration) float64 {
	d = min(longest, max(shortest, d))
	part := math.Log(float64(d)/float64(shortest)) / math.Log(float64(longest)/float64(shortest))
	return p.y + panelHeight*(1-part)
}
