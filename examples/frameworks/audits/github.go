package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// github plays endpoints of GitHub's REST API, on one repository. What of them decides a verdict is documented so, under
// docs.github.com/en/rest, and at [gitRepository]:
//
//   - issues, comments, replies, gists and dispatches of a workflow are made anew by each request: their endpoints have
//     no idempotency key (issues, pulls/comments, gists, actions/workflows)
//   - a repository, and an open pull request of a branch, that exists is not made again: 422 (repos, pulls)
//   - a merge that cannot be performed is refused: 405 (pulls)
//   - a star is set with PUT (activity/starring)
func github() *backend {
	var git gitRepository
	var state struct {
		Issues, Pulls, Gists, Runs []doc
		Comments, Replies          []string
		Repositories, Starred      []string
		Git                        any
	}
	b := newBackend(func() {
		git.reset()
		state.Issues, state.Gists, state.Runs = []doc{{"title": "an issue"}}, []doc{}, []doc{}
		state.Pulls = []doc{{"title": "a pull request", "head": "topic", "state": "open"}}
		state.Comments, state.Replies, state.Repositories, state.Starred = []string{}, []string{}, []string{"demo"}, []string{}
	}, func() any {
		state.Git = git.state()
		return state
	})
	// answer has the id that the state leaves out, so that states can be compared.
	answer := func(n int, of doc) doc {
		answer := doc{"id": n, "number": n, "html_url": fmt.Sprintf("https://github.com/octo/demo/%d", n)}
		for _, name := range []string{"title", "state", "body", "name"} {
			answer[name] = of[name]
		}
		return answer
	}
	create := func(list *[]doc, status int) func(*request) (int, any) {
		return func(r *request) (int, any) {
			*list = append(*list, r.body)
			return status, answer(len(*list), r.body)
		}
	}
	change := func(list *[]doc) func(*request) (int, any) {
		return func(r *request) (int, any) {
			n, err := strconv.Atoi(r.PathValue("n"))
			if err != nil || n < 1 || n > len(*list) {
				return refuse(404, "Not Found")
			}
			maps.Copy((*list)[n-1], r.body)
			return 200, answer(n, (*list)[n-1])
		}
	}
	say := func(list *[]string) func(*request) (int, any) {
		return func(r *request) (int, any) {
			*list = append(*list, r.text("body"))
			return 201, answer(len(*list), r.body)
		}
	}
	const repo = "/repos/octo/demo"
	git.serve(b, repo)
	b.on("POST "+repo+"/issues", create(&state.Issues, 201))
	b.on("PATCH "+repo+"/issues/{n}", change(&state.Issues))
	b.on("GET "+repo+"/issues/{n}", change(&state.Issues)) // a GET has no body, so nothing changes
	b.on("POST "+repo+"/issues/{n}/comments", say(&state.Comments))
	b.on("POST "+repo+"/pulls/{n}/comments", say(&state.Replies))
	b.on("POST /gists", func(r *request) (int, any) {
		state.Gists = append(state.Gists, r.body)
		return 201, doc{"id": fmt.Sprint(len(state.Gists)), "html_url": "https://gist.github.com/octo/1"}
	})
	b.on("POST "+repo+"/actions/workflows/{id}/dispatches", create(&state.Runs, 204))
	b.on("PUT /user/starred/octo/demo", func(*request) (int, any) {
		state.Starred = []string{"octo/demo"}
		return 204, nil
	})
	b.on("POST /user/repos", func(r *request) (int, any) {
		if slices.Contains(state.Repositories, r.text("name")) {
			return refuse(422, "Repository creation failed.")
		}
		state.Repositories = append(state.Repositories, r.text("name"))
		return 201, answer(len(state.Repositories), r.body)
	})
	b.on("POST "+repo+"/pulls", func(r *request) (int, any) {
		for _, p := range state.Pulls {
			if p["head"] == r.text("head") && p["state"] == "open" {
				return refuse(422, "A pull request already exists for octo:"+r.text("head")+".")
			}
		}
		r.body["state"] = "open"
		return create(&state.Pulls, 201)(r)
	})
	b.on("GET "+repo+"/pulls/{n}", change(&state.Pulls))
	b.on("PATCH "+repo+"/pulls/{n}", change(&state.Pulls))
	b.on("PUT "+repo+"/pulls/1/merge", func(*request) (int, any) {
		if state.Pulls[0]["state"] != "open" {
			return refuse(405, "Pull Request is not mergeable")
		}
		state.Pulls[0]["state"] = "closed"
		git.refs["main"] = git.commit("merge", git.refs["main"], git.commits[git.refs["topic"]].tree)
		return 200, doc{"merged": true, "sha": git.refs["main"]}
	})
	return b
}
