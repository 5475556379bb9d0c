//go:build race

package sqltext

// raceDetector slows the code down; tests repeat less under it.
const raceDetector = true
