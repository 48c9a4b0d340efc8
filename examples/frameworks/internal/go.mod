module github.com/shakedown-go/shakedown/examples/frameworks/internal

go 1.26.0

require (
	github.com/shakedown-go/shakedown v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/sergi/go-diff v1.4.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.24.0 // indirect
)

replace github.com/shakedown-go/shakedown => ../../..
