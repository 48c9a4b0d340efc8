// Package toolkit reads and writes experiments in the JSON layout of Chaos
// Toolkit, and turns them into experiments of package contract/experiment.
//
//	doc, err := toolkit.Read(data)
//	e, err := doc.Experiment(ctx, &toolkit.Providers{Funcs: map[string]toolkit.Func{
//		"shop.actions.slow_down": toolkit.Bind(slowDown),
//	}})
//	journal, err := experiment.Run(ctx, e, &experiment.Options{ChaosToolkit: true})
//
// # Providers
//
// A provider of type function (or python) is a Go function, registered as
// module.func. Type http sends a request and outputs {status, headers, body}; type
// process runs a program, without a shell, and outputs {status, stdout, stderr}. A
// status of 400 and more, or an exit status other than 0, is an output; a refused
// connection or a time-out is a failure. After its timeout a process is killed with
// all its children.
//
// # Substitution
//
// ${name} means a value of the configuration or else of the secrets, in arguments,
// URL, headers, time-outs, pauses, title and the texts of tolerances; $${ is
// written for ${ itself. A text that is only ${name} becomes the value with its
// type. In arguments, URL and headers, ${name} may also be the output of an earlier
// activity, or a part of it: ${create order:$.body.id}.
//
// # Strictness
//
// [Read] and [Document.Validate] report every problem at once, each a
// [*FieldError] such as
//
//	toolkit: line 31, column 29: method[2].provider.type is "ssh"; allowed: function, python, http, process
//
// Unknown members, functions, controls, references and ${names} are problems, and
// so are invalid tolerances. Some features are not supported, and are reported:
// secrets from vaults, regular expressions that Go does not have, JSON paths beyond
// those of tolerance.Path, and background activities among the rollbacks.
//
// docs/experiments.md has the layout and the differences.
package toolkit
