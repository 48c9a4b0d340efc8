package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
)

// verifyClaim runs some units of a run file again, and reports whether the file is true.
func verifyClaim(ctx context.Context, c *command) (status int, err error) {
	rerun := c.flags.Int("rerun", 60, "how many `UNITS` run again; 60 find 5 % forged ones with 95 %")
	seed := c.flags.Uint64("seed", rand.Uint64(),
		"the `SEED` that draws them; left out: a random one, which who made the file cannot know")
	build := c.flags.String("build", os.Getenv("SHAKEDOWN_BUILD"), "the `BUILD` of the agent that runs again; left out: SHAKEDOWN_BUILD")
	operands, err := c.parse(2, 2)
	if err != nil {
		return 0, err
	}
	if *rerun <= 0 {
		return 0, fields.Wrong("--rerun", *rerun, "1 and more")
	}
	_, matrices, err := load(operands[0])
	if err != nil {
		return 0, err
	}
	claim, err := readRun(operands[1])
	if err != nil {
		return 0, err
	}
	m := matrices[0].matrix // that of the file; if it is of none, this one says how it differs
	for _, own := range matrices[1:] {
		is, err := own.matrix.Fingerprint()
		if was := claim.Fingerprint; err == nil && was != nil && is.Sum == was.Sum {
			m = own.matrix
		}
	}
	told := c.newProgress("verifying")
	again, err := m.RunAgain(ctx, claim, *rerun, *seed, &contract.RunOptions{Build: *build, OnProgress: told.run})
	told.end()
	switch {
	case ctx.Err() != nil:
		return inconclusive, fmt.Errorf("shakedown: %s is not verified: the run was ended", operands[1])
	case err != nil:
		return 0, reworded(err)
	}
	v, err := compare.Verify(claim, again)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(c.out, "%v--seed %d draws the same units.\n", v, *seed)
	return statusOf(v.Verdict), nil
}
