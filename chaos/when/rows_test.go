package when_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos/internal/rowtest"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func TestRowsAreComplete(t *testing.T) { assert.NoError(t, rowtest.Complete(".", when.Rows())) }
