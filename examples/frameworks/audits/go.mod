module github.com/shakedown-go/shakedown/examples/frameworks/audits

go 1.26.0

replace (
	github.com/shakedown-go/shakedown => ../../..
	github.com/shakedown-go/shakedown/examples/frameworks/internal => ../internal
	github.com/shakedown-go/shakedown/mcpadapter => ../../../mcpadapter
)

require (
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/shakedown-go/shakedown v0.0.0
	github.com/shakedown-go/shakedown/examples/frameworks/internal v0.0.0-00010101000000-000000000000
	github.com/shakedown-go/shakedown/mcpadapter v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
	golang.org/x/sync v0.25.0
)

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/sergi/go-diff v1.4.0 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)
