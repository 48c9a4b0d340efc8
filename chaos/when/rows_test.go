package when_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos/internal/catalogtest"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func TestRowsAreComplete(t *testing.T) { assert.NoError(t, catalogtest.Complete(".", when.Rows())) }
