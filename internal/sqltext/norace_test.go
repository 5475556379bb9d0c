//go:build !race

package sqltext

const raceDetector = false
