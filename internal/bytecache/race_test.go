//go:build race

package bytecache

// raceDetector slows the code down; tests repeat less under it.
const raceDetector = true
