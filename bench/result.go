package bench

import (
	"slices"
	"time"
)

// A Report is what a run has measured.
type Report struct {
	Version      string // of the server
	Rounds       int
	Slice        time.Duration
	Measurements []*Measurement
	Selections   []Selection
}

// A Measurement is a case at a number of goroutines.
type Measurement struct {
	Case       Case
	Goroutines int
	Contenders []Contender
}

// A Contender is what one client did, with a sample of each round.
type Contender struct {
	Name    string
	Samples []Sample
}

// metric is a figure of a sample.
type metric func(*Sample) float64

// median is the middle figure of all rounds.
func (c *Contender) median(of metric) float64 {
	figures := make([]float64, len(c.Samples))
	for i := range c.Samples {
		figures[i] = of(&c.Samples[i])
	}
	return median(figures)
}

// ratio is the median of the rounds' ratios of a contender to another one.
func (c *Contender) ratio(to *Contender, of metric) float64 {
	ratios := make([]float64, min(len(c.Samples), len(to.Samples)))
	for i := range ratios {
		ratios[i] = of(&c.Samples[i]) / of(&to.Samples[i])
	}
	return median(ratios)
}

// median is the middle one, of two the mean, 0 of nothing.
func median(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	figures = slices.Sorted(slices.Values(figures))
	middle := len(figures) / 2
	if len(figures)%2 == 1 {
		return figures[middle]
	}
	return (figures[middle-1] + figures[middle]) / 2
}

// contender finds one by its name; nil is that it did not take part.
func (m *Measurement) contender(name string) *Contender {
	for i := range m.Contenders {
		if m.Contenders[i].Name == name {
			return &m.Contenders[i]
		}
	}
	return nil
}

// measurement finds a case; nil is that it was not run.
func (r *Report) measurement(name string, goroutines int) *Measurement {
	for _, m := range r.Measurements {
		if m.Case.Name == name && m.Goroutines == goroutines {
			return m
		}
	}
	return nil
}
