module github.com/shakedown-go/shakedown/examples/frameworks/ollama

go 1.26.0

require (
	github.com/ollama/ollama v0.17.4
	github.com/shakedown-go/shakedown v0.0.0
	github.com/shakedown-go/shakedown/examples/frameworks/internal v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/bahlo/generic-list-go v0.2.0 // indirect
	github.com/buger/jsonparser v1.1.1 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mailru/easyjson v0.7.7 // indirect
	github.com/sergi/go-diff v1.4.0 // indirect
	github.com/wk8/go-ordered-map/v2 v2.1.8 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.43.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace (
	github.com/shakedown-go/shakedown => ../../..
	github.com/shakedown-go/shakedown/examples/frameworks/internal => ../internal
)
