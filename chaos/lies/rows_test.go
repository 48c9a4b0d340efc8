package lies_test

import (
	"testing"

	"github.com/shakedown-go/shakedown/chaos/internal/rowtest"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

func TestRowsAreComplete(t *testing.T) { rowtest.Complete(t, lies.Rows()) }
