package when_test

import (
	"testing"

	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func TestRows(t *testing.T) { catalogtest.Run(t, when.Rows()) }
