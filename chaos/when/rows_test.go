package when_test

import (
	"testing"

	"github.com/shakedown-go/shakedown/chaos/internal/rowtest"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func TestRowsAreComplete(t *testing.T) { rowtest.Complete(t, when.Rows()) }
