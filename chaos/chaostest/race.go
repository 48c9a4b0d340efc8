//go:build race

package chaostest

const raceDetector = true
