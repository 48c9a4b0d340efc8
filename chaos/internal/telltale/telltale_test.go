package telltale_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos/internal/telltale"
)

func TestTelltale(t *testing.T) {
	for text, want := range map[string]string{
		"Injected fault":                      "Injected",
		"chaos: rule x":                       "chaos",
		"a FAKE reply":                        "FAKE",
		"this is only a test.":                "test",
		"simulated outage":                    "simulated",
		"service unavailable":                 "",
		"default latest contest faultless":    "",
		"read: connection reset by peer":      "",
		"the attestation could not be loaded": "",
	} {
		assert.Equal(t, want, telltale.Find(text), text)
	}
}
