//go:build race

package iproto

const raceDetector = true
