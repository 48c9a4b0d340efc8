package toolkit_test

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/contract/experiment"
	"github.com/shakedown-go/shakedown/contract/experiment/toolkit"
)

func Example() {
	doc, err := toolkit.Read([]byte(`{
		"title": "Does the shop survive without its cache?",
		"description": "It is slower then, and sells all the same.",
		"configuration": {"cache": "orders"},
		"steady-state-hypothesis": {"title": "the shop sells", "probes": [
			{"type": "probe", "name": "orders are answered", "tolerance": 200,
			 "provider": {"type": "python", "module": "shop", "func": "order"}}
		]},
		"method": [
			{"type": "action", "name": "flush the cache",
			 "provider": {"type": "python", "module": "shop", "func": "flush", "arguments": {"name": "${cache}"}}}
		]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	type flush struct {
		Name string `json:"name"`
	}
	e, err := doc.Experiment(context.Background(), &toolkit.Providers{Funcs: map[string]toolkit.Func{
		"shop.order": func(context.Context, map[string]any) (any, error) { return map[string]any{"status": 200}, nil },
		"shop.flush": toolkit.Bind(func(_ context.Context, in flush) (string, error) { return "flushed " + in.Name, nil }),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	journal, err := experiment.Run(context.Background(), e, &experiment.Options{ChaosToolkit: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(journal.Status, journal.Deviated, string(journal.Run[0].Output))
	// Output:
	// completed false "flushed orders"
}

func ExampleDocument_Validate() {
	doc, err := toolkit.Read([]byte(`{"title": "t", "description": "d", "method": [
		{"type": "action", "name": "cut", "provider": {"type": "python", "module": "net", "func": "cut", "arguments": {"host": "${hosst}"}}},
		{"ref": "cutt"}
	]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(doc.Validate(nil))
	// Output:
	// toolkit: method[0].provider.arguments is "${hosst}"; allowed: a configuration value, a secret or an activity; $${ for the characters themselves
	// toolkit: method[0].provider.func is "net.cut"; allowed: a registered function: none is known
	// toolkit: method[1].ref is "cutt"; allowed: cut
}
