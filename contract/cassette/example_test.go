package cassette_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/contract/cassette"
)

// A tape is recorded once, and played when the provider is gone.
func Example() {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"answer":"Refunded."}`)
	}))
	dir, err := os.MkdirTemp("", "cassette")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ask := func(mode cassette.Mode, prompt string) error {
		tape, err := cassette.Open(filepath.Join(dir, "refund.cassette.json"), &cassette.Options{Mode: mode})
		if err != nil {
			return err
		}
		player := tape.Player()
		client := &http.Client{Transport: chaoshttp.NewTransport(player, nil)}
		resp, err := client.Post(provider.URL+"/ask", "application/json", strings.NewReader(`{"prompt": "`+prompt+`"}`))
		if err != nil {
			return errors.Join(player.Err(), tape.Close())
		}
		body, err := io.ReadAll(resp.Body)
		fmt.Printf("%s: %s (%d live)\n", mode, body, player.Live())
		return errors.Join(err, resp.Body.Close(), tape.Close())
	}
	fmt.Println(ask(cassette.Auto, "Refund order 1042"))
	provider.Close()
	fmt.Println(ask(cassette.Replay, "Refund order 1042"))

	var miss *cassette.MissError
	if err := ask(cassette.Replay, "Refund order 1043"); errors.As(err, &miss) {
		fmt.Println(miss.Differences)
	}
	// Output:
	// auto: {"answer":"Refunded."} (1 live)
	// <nil>
	// replay: {"answer":"Refunded."} (0 live)
	// <nil>
	// [{/prompt [-Refund order 1042-]{+Refund order 1043+}}]
}
