module github.com/shakedown-go/shakedown

go 1.26.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/google/jsonschema-go v0.4.3
	github.com/sergi/go-diff v1.4.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	go.yaml.in/yaml/v3 v3.0.5
	golang.org/x/sync v0.24.0
	pgregory.net/rapid v1.3.0
)
