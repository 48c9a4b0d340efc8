//go:build race

package audit_test

const raceDetector = true
