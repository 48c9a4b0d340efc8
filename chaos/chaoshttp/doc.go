// Package chaoshttp breaks HTTP, on the client's side and on the server's.
package chaoshttp
