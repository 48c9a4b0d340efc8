package when_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// claimLine is a line of the tables: its row, claim and reason.
var claimLine = regexp.MustCompile("(?m)^\\| (`[\\w.]+`[^|]*|[a-z ]+) \\| " +
	`(independent of order|needs a sequential lane|depends on time|depends on deliveries) \| .+ \|` + "\n")

// tested are the rows of the page with their claims: those by hand, then each
// constructor of a row that is tried by its example. catalogtest.Run checks that
// every constructor is in a row.
func tested(t *testing.T) map[string]catalog.Order {
	claim := map[string]catalog.Order{}
	for _, c := range claims() {
		assert.NotContains(t, claim, c.row, "twice in the test")
		claim[c.row] = c.claim
	}
	for _, r := range fromRows() {
		for _, name := range constructors(r) {
			order, known := claim[name]
			assert.True(t, !known || order == r.Order, "%s: two claims", name)
			claim[name] = r.Order
		}
	}
	for _, r := range everyRow() {
		for _, name := range constructors(r) {
			assert.Contains(t, claim, name, "it has no claim")
		}
	}
	return claim
}

// constructors are those that a row shows.
func constructors(r *catalog.Row) (names []string) {
	for _, call := range regexp.MustCompile(`\b(when|fault|lies)\.\w+\(`).FindAllString(r.Go, -1) {
		names = append(names, strings.TrimSuffix(call, "("))
	}
	return names
}

// The tables of docs/determinism.md have the rows that are tested, with the claims
// that are tested, and no others.
func TestPagesHaveTheClaims(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "determinism.md"))
	require.NoError(t, err)
	want, documented := map[string]string{}, map[string]string{}
	for name, order := range tested(t) {
		want[name] = order.String()
	}
	for _, cells := range claimLine.FindAllStringSubmatch(string(page), -1) {
		name := strings.ReplaceAll(cells[1], "`", "")
		assert.NotContains(t, documented, name, "twice on the page")
		documented[name] = cells[2]
	}
	assert.Equal(t, want, documented, "docs/determinism.md")
}
