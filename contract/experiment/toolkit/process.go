package toolkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// process is a provider of type process.
type process struct{ p *Provider }

// do runs the program and outputs {status, stdout, stderr}. It runs in a process
// group of its own, which is killed at the timeout.
func (c process) do(ctx context.Context, vs values) (any, error) {
	args, err := processArguments(c.p.Arguments, vs)
	if err != nil {
		return nil, fmt.Errorf("toolkit: arguments: %w", err)
	}
	cmd := exec.CommandContext(ctx, c.p.Path, args...)
	stdout, stderr := &head{}, &head{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = 500 * time.Millisecond // for children that hold the streams open
	asGroup(cmd)
	err = cmd.Run()
	exit := new(exec.ExitError)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("toolkit: process %s: %w", c.p.Path, ctx.Err())
	case err == nil, errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
	default:
		return nil, fmt.Errorf("toolkit: process %s: %w", c.p.Path, err)
	}
	output := map[string]any{"status": cmd.ProcessState.ExitCode(), "stdout": stdout.String(),
		"stderr": stderr.String()}
	if stdout.cut || stderr.cut {
		output["truncated"] = true
	}
	return output, nil
}

// head keeps the beginning of a stream.
type head struct {
	bytes.Buffer
	cut bool
}

func (h *head) Write(p []byte) (int, error) {
	room := maxBody - h.Len()
	if len(p) > room {
		h.cut = true
		h.Buffer.Write(p[:room])
		return len(p), nil
	}
	return h.Buffer.Write(p)
}

// processArguments returns the arguments after the path: the items of a list, the
// names and values of an object in its order, or the words of a text.
func processArguments(raw json.RawMessage, vs values) (words []string, err error) {
	var list []any
	if raw != nil {
		if list, err = listed(raw); err != nil {
			return nil, err
		}
	}
	for _, v := range list {
		v, err := vs.any(v)
		if err != nil {
			return nil, err
		}
		if word := spell(v); word != "" {
			words = append(words, word)
		}
	}
	if vs.judged != nil {
		words = append(words, "value", spell(*vs.judged))
	}
	return words, nil
}

// listed reads the arguments as a list of values, in their order.
func listed(raw json.RawMessage) (list []any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if raw[0] != '{' {
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		if text, ok := v.(string); ok {
			return split(text)
		}
		list, _ = v.([]any)
		return list, nil
	}
	_, _ = d.Token()
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		list = append(list, name, v)
	}
	return list, nil
}

// split splits a text into words at white space outside quotes. It has no other
// feature of a shell.
func split(text string) (words []any, err error) {
	var word strings.Builder
	var quote rune
	inWord := false
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case strings.ContainsRune(" \t\r\n", r):
			end()
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quotes of %q do not end", text)
	}
	end()
	return words, nil
}
