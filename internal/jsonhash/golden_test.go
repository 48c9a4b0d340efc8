package jsonhash_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// These constants must never change: with one of them, every draw of a tool call that users have recorded changes.
func TestSumGolden(t *testing.T) {
	for _, row := range []struct {
		doc  string
		want uint64
	}{
		{"{}", 0xaeaf52febe706064},
		{"[null,true,false,{},[]]", 0x109d52b143048b7b},
		{`""`, 0xfdbd920ba628a4bf},
		{`"orders"`, 0x6fd4ae4f1be92f29},
		{`"` + strings.Repeat("0123456789", 200) + `"`, 0xfd10d2d95ab13b07},
		{"0", 0xa10c6aa170b7bc02},
		{"1042", 0x3d3ef49dddcd0f74},
		{"-19.90", 0xd8c2154ff76fa50f},
		{"3.14159265358979323846264338327950288419716939937510", 0xa34fbd18d408efc},
		{"1e99999999999999999999999999", 0x3ade2e74c1af7d7e},
		{"-1e-99999999999999999999999999", 0x536de2176ecd61f},
		{`{"order_id":1042,"reason":"damaged","notify":true,"sum":19.9}`, 0x21619819c95dc2aa},
		{`{"a":{"b":[{"c":["` + "\u6771\u4eac" + `\ud83d\ude00\n"]}]}}`, 0x8926ee926278a3bd},
		{"not JSON", 0xb21866b65cf8e582},
	} {
		assert.Equal(t, row.want, jsonhash.Sum([]byte(row.doc)), "%.60s", row.doc)
	}
}
