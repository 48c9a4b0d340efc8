module github.com/shakedown-go/shakedown/chaos/chaosgrpc

go 1.26.0

require (
	github.com/shakedown-go/shakedown v0.0.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)
require (
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)
