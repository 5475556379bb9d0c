package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDemoShowsTheDriverAtWork(t *testing.T) {
	s := &session{t: t}
	assert.Contains(t, s.done("demo"), "nothing acknowledged was lost")
}
