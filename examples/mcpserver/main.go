// Command mcpserver runs the order desk and lets MCP clients break it: its
// faults, experiments, contracts and timelines are their tools.
//
//	go run ./examples/mcpserver                                  # over standard input and output, read-only
//	go run ./examples/mcpserver --http 127.0.0.1:7411            # on http://127.0.0.1:7411/mcp, with SHAKEDOWN_MCP_TOKEN
//	go run ./examples/mcpserver --new-token ci                   # a token, and its entry for the file of SHAKEDOWN_MCP_TOKENS_FILE
//	SHAKEDOWN_MCP_MODE=read-write SHAKEDOWN_MCP_ENABLE_WRITE=true go run ./examples/mcpserver
//
// Flags and exit statuses are those of package mcpadapter/program.
package main

import (
	"context"
	"os"

	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/mcpadapter/program"
)

func main() { os.Exit(program.Main(server())) }

// server serves a shop, whose desk works until the program ends.
func server() *program.Program {
	return &program.Program{
		Name: "mcpserver", Example: "mcpserver --http 127.0.0.1:7411",
		Open: func(ctx context.Context) (mcpadapter.Host, func() error, error) {
			s, err := openShop(ctx)
			if err != nil {
				return mcpadapter.Host{}, nil, err
			}
			return s.host, s.close, nil
		},
	}
}
