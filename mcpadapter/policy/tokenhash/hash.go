// Package tokenhash makes bearer tokens, and the hashes by which a file of tokens
// knows them ([github.com/shakedown-go/shakedown/mcpadapter/policy.Options], TokensFile).
//
//	value, hash := tokenhash.New() // the client gets the value, the file the hash
//
// Stability: may change.
package tokenhash

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	// Prefix begins each hash, and says how it was made.
	Prefix = "sha256:"
	// minLength is the least length of a token that is kept by its hash: who reads
	// the file can try all shorter ones.
	minLength = 20
)

// New returns a random token of 26 characters with 130 bits, and its hash.
func New() (value, hash string) {
	value = rand.Text()
	return value, hashOf(value)
}

// Of returns the hash of a token: Prefix and 64 hexadecimal digits. The hash is
// a plain SHA-256, which is cheap to compare; a token that a person made up can
// be guessed from it. A token below 20 bytes is an error, and so is one with a
// space, a comma or a control character. The error does not quote it.
func Of(value string) (string, error) {
	if len(value) < minLength ||
		strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == ',' || r == 0x7f }) {
		return "",
			fmt.Errorf("tokenhash: the token has %d bytes; allowed: at least %d, without space, comma and control characters", len(value), minLength)
	}
	return hashOf(value), nil
}

func hashOf(value string) string {
	sum := sha256.Sum256([]byte(value))
	return Prefix + hex.EncodeToString(sum[:])
}
