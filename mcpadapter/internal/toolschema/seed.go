package toolschema

import (
	"fmt"
	"strconv"

	"github.com/shakedown-go/shakedown/internal/text"
)

// Seed reads a seed. Seeds are text, because JSON numbers above 2^53 may lose
// precision in transit.
func Seed(field, digits string) (uint64, error) {
	seed, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0,
			&Refusal{fmt.Sprintf("%s is %q; allowed: a decimal number from 0 to 18446744073709551615, as a string",
				field, text.Clip(digits, 60)),
				"Send the seed as a string of digits."}
	}
	return seed, nil
}
