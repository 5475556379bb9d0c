//go:build !race

package bytecache

const raceDetector = false
