package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/contract/cassette"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
)

// listTape lists the exchanges of a tape, and where on it a secret may be.
func listTape(_ context.Context, c *command) (status int, err error) {
	operands, err := c.parse(1, 1)
	if err != nil {
		return 0, err
	}
	if _, err := input(operands[0], "a tape"); err != nil {
		return 0, err
	}
	all, err := cassette.List(operands[0])
	if err != nil {
		return 0, inFile(operands[0], err)
	}
	suspects := 0
	for i, e := range all {
		fmt.Fprintf(c.out, "%d %s: %s, status %d, %d bytes asked, %d answered\n", i+1, cmp.Or(document.Clean(e.Cell), "no cell"),
			document.Clean(e.Method+" "+e.URL), e.Status, e.Asked, e.Answered)
		for _, place := range e.Suspects {
			fmt.Fprintf(c.out, "    a secret? %s\n", document.Clean(place))
		}
		suspects += len(e.Suspects)
	}
	fmt.Fprintf(c.out, "\n%s, %s where a secret may be\n", text.Plural(len(all), "exchange"), text.Plural(suspects, "place"))
	return 0, nil
}
