package cli_test

import (
	"errors"
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/examples/internal/cli"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		reason string
		args   []string
		want   []string
	}{
		{"nothing to say", []string{"-n", "3"}, nil},
		{"every problem, also behind an argument that is no flag", []string{"-n", "x", "stray", "-odd", "-n", "4"},
			[]string{`prog: invalid value "x" for flag -n: parse error`, `prog: unexpected argument "stray"; allowed: flags`, "prog: flag provided but not defined: -odd"}},
		{"help alone", []string{"-n", "x", "-h"}, []string{flag.ErrHelp.Error()}},
	} {
		f := flag.NewFlagSet("prog", flag.ContinueOnError)
		f.SetOutput(io.Discard)
		f.Int("n", 0, "")
		var got []string
		for _, err := range cli.Parse(f, tt.args) {
			if errors.Is(err, flag.ErrHelp) {
				err = flag.ErrHelp
			}
			got = append(got, err.Error())
		}
		assert.Equal(t, tt.want, got, tt.reason)
	}
}
