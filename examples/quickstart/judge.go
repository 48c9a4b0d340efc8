package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
	"github.com/shakedown-go/shakedown/contract/invariant"
	judges "github.com/shakedown-go/shakedown/contract/judge"
)

// With -judge a model judges what rules judge otherwise: whether the answer's claims are
// true. It is asked over a cassette, so this costs nothing and needs no network; what is
// not on the tape is not decided.
const (
	judgedInvariant = "claims-are-true"
	claimsSentence  = "Everything that the answer says was done is true of the state."
	judgeTape       = "judge.cassette.json"
	judgeErrors     = "judge.json" // its calibration
	judgeURL        = "https://model.example/v1/chat/completions"
)

// A deskJudge is the judge of a run; nil: rules judge.
type deskJudge struct {
	dir   string
	ask   invariant.Judge
	tape  *cassette.Cassette
	known *judges.Calibration
}

// openJudge opens the tape and the calibration in a folder.
func openJudge(dir string) (*deskJudge, error) {
	known, err := judges.Load(filepath.Join(dir, judgeErrors))
	if err != nil {
		return nil, fmt.Errorf("quickstart: -judge: %w", err)
	}
	tape, err := cassette.Open(filepath.Join(dir, judgeTape), &cassette.Options{Mode: cassette.Replay})
	if err != nil {
		return nil, fmt.Errorf("quickstart: -judge: %w", err)
	}
	j, err := newJudge(&http.Client{Transport: tape.Player()})
	return &deskJudge{dir, j, tape, known}, err
}

// newJudge makes the judge of a client.
func newJudge(client *http.Client) (invariant.Judge, error) {
	return judges.Chat(func(ctx context.Context, system, user string) (string, error) {
		return complete(ctx, client, system, user)
	}, &judges.ChatOptions{Name: "script", Version: "1"})
}

// into replaces the rules of the matrix by the judge.
func (j *deskJudge) into(m *contract.Matrix) {
	if j == nil {
		return
	}
	i := slices.IndexFunc(m.Invariants, func(i contract.Invariant) bool { return i.Name == judgedInvariant })
	m.Invariants[i] = judgedClaims(j.ask)
}

func judgedClaims(ask invariant.Judge) contract.Invariant {
	i := invariant.Judged(judgedInvariant, contract.Critical, claimsSentence, ask)
	i.Needs |= contract.NeedState
	return i
}

// correct puts the calibration into the report.
func (j *deskJudge) correct(r *contract.Report) error {
	if j == nil {
		return nil
	}
	return errors.Join(judges.Correct(r, j.known), j.tape.Close())
}

// complete asks a model of the chat completions API.
func complete(ctx context.Context, client *http.Client, system, user string) (string, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	asked, err := json.Marshal(struct {
		Model       string    `json:"model"`
		Temperature float64   `json:"temperature"`
		Messages    []message `json:"messages"`
	}{"script-1", 0, []message{{"system", system}, {"user", user}}})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, judgeURL, bytes.NewReader(asked))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var got struct {
		Choices []struct{ Message message }
	}
	if err := json.Unmarshal(body, &got); err != nil || resp.StatusCode != http.StatusOK || len(got.Choices) == 0 {
		return "", fmt.Errorf("the model answered %s: %q", resp.Status, body)
	}
	return got.Choices[0].Message.Content, nil
}
