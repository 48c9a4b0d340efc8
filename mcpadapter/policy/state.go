package policy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// statePrefix begins a request state that records the user's confirmation of
// this call, given before the tool asked questions of its own.
const statePrefix = "shakedown-confirmed:"

// seal binds the user's confirmation to the tool, the arguments and the tool's
// own state. It is valid while the process lives; after that the user is asked
// again.
func (acc *access) seal(args *arguments, state string) string {
	mac := hmac.New(sha256.New, acc.gate.sealKey[:])
	for _, part := range [][]byte{[]byte(acc.tool), args.raw, []byte(state)} {
		sum := sha256.Sum256(part) // of a fixed length, so that parts cannot be shifted
		mac.Write(sum[:])
	}
	return statePrefix + hex.EncodeToString(mac.Sum(nil)) + ":" + state
}

// unseal reports whether a state was sealed here for this call, and returns the
// tool's own state.
func (acc *access) unseal(args *arguments, sealed string) (state string, ok bool) {
	rest, ours := strings.CutPrefix(sealed, statePrefix)
	_, state, whole := strings.Cut(rest, ":")
	if !ours || !whole || !hmac.Equal([]byte(acc.seal(args, state)), []byte(sealed)) {
		return sealed, false
	}
	return state, true
}

// carry passes the user's confirmation to the next round, if the tool asks for
// one.
func (acc *access) carry(args *arguments, res mcp.Result) mcp.Result {
	result, ok := res.(*mcp.CallToolResult)
	if !ok || result == nil || !acc.answered || result.InputRequests == nil {
		return res
	}
	c := *result
	c.RequestState = acc.seal(args, c.RequestState)
	return &c
}
