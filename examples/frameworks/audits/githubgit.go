package main

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A gitRepository plays the endpoints of GitHub's REST API for branches, commits and files of one repository. What of
// them decides a verdict is documented so, under docs.github.com/en/rest:
//
//   - a reference that exists is not made again: 422 (git/refs)
//   - a tree that deletes a file that is not there is an error (git/trees: "Returns an error if you try to delete a file
//     that does not exist")
//   - a commit is made for each request, also of an unchanged tree (git/commits)
//   - a file that exists is replaced only with its sha (repos/contents)
//
// Objects have ids that are made of what is in them, as in git, but commits have no time.
type gitRepository struct {
	refs    map[string]string // commits by branch
	commits map[string]commit
	trees   map[string]map[string]string // content by path
}

type commit struct {
	message, parent string
	tree            map[string]string // content by path
}

type doc = map[string]any

func idOf(of any) string { return fmt.Sprintf("%x", sha1.Sum([]byte(fmt.Sprint(of)))) }

func refuse(status int, message string) (int, any) { return status, doc{"message": message} }

func (g *gitRepository) reset() {
	*g = gitRepository{map[string]string{}, map[string]commit{}, map[string]map[string]string{}}
	g.refs["main"] = g.commit("first", "", map[string]string{"README.md": "read me", "old.txt": "old"})
	g.refs["topic"] = g.commit("topic", g.refs["main"], map[string]string{"README.md": "read me twice"})
}

// state has the messages of each branch's commits, the oldest first, and its files.
func (g *gitRepository) state() any {
	type branch struct {
		Commits []string
		Files   map[string]string
	}
	all := map[string]*branch{}
	for name, sha := range g.refs {
		all[name] = &branch{Files: g.commits[sha].tree}
		for ; sha != ""; sha = g.commits[sha].parent {
			all[name].Commits = append(all[name].Commits, g.commits[sha].message)
		}
		slices.Reverse(all[name].Commits)
	}
	return all
}

func (g *gitRepository) commit(message, parent string, tree map[string]string) string {
	sha := idOf([]any{message, parent, tree})
	g.commits[sha] = commit{message, parent, tree}
	g.trees[idOf(tree)] = tree
	return sha
}

func (g *gitRepository) ref(branch string) doc {
	return doc{"ref": "refs/heads/" + branch, "object": doc{"type": "commit", "sha": g.refs[branch]}}
}

func (g *gitRepository) serve(b *backend, repo string) {
	b.on("GET "+repo, func(*request) (int, any) { return 200, doc{"name": "demo", "default_branch": "main"} })
	b.on("GET "+repo+"/branches", func(*request) (int, any) {
		return 200, []doc{{"name": "main", "commit": doc{"sha": g.refs["main"]}}}
	})
	b.on("GET "+repo+"/git/ref/heads/{branch}", func(r *request) (int, any) {
		if g.refs[r.PathValue("branch")] == "" {
			return refuse(404, "Not Found")
		}
		return 200, g.ref(r.PathValue("branch"))
	})
	b.on("POST "+repo+"/git/refs", func(r *request) (int, any) {
		branch := strings.TrimPrefix(r.text("ref"), "refs/heads/")
		if g.refs[branch] != "" {
			return refuse(422, "Reference already exists")
		}
		g.refs[branch] = r.text("sha")
		return 201, g.ref(branch)
	})
	b.on("PATCH "+repo+"/git/refs/heads/{branch}", func(r *request) (int, any) {
		branch := r.PathValue("branch")
		for at := r.text("sha"); at != g.refs[branch]; at = g.commits[at].parent {
			if at == "" {
				return refuse(422, "Update is not a fast forward")
			}
		}
		g.refs[branch] = r.text("sha")
		return 200, g.ref(branch)
	})
	b.on("GET "+repo+"/git/commits/{sha}", func(r *request) (int, any) {
		c := g.commits[r.PathValue("sha")]
		return 200, doc{"sha": r.PathValue("sha"), "message": c.message, "tree": doc{"sha": idOf(c.tree)}}
	})
	b.on("POST "+repo+"/git/commits", func(r *request) (int, any) {
		parents, _ := r.body["parents"].([]any)
		return 201, doc{"sha": g.commit(r.text("message"), fmt.Sprint(parents...), g.trees[r.text("tree")])}
	})
	b.on("POST "+repo+"/git/trees", g.makeTree)
	b.on("GET "+repo+"/contents/{path...}", func(r *request) (int, any) {
		content, there := g.commits[g.refs[r.URL.Query().Get("ref")]].tree[r.PathValue("path")]
		if !there {
			return refuse(404, "Not Found")
		}
		return 200, doc{"type": "file", "path": r.PathValue("path"), "sha": idOf(content)}
	})
	b.on("PUT "+repo+"/contents/{path...}", g.putFile)
}

func (g *gitRepository) makeTree(r *request) (int, any) {
	var entries []struct {
		Path    string
		Content *string // nil: the file is deleted
	}
	raw, _ := json.Marshal(r.body["tree"]) //nolint:errcheck // it was read from JSON
	if err := json.Unmarshal(raw, &entries); err != nil {
		return refuse(422, err.Error())
	}
	tree := maps.Clone(g.trees[r.text("base_tree")])
	for _, e := range entries {
		_, there := tree[e.Path]
		switch {
		case e.Content != nil:
			tree[e.Path] = *e.Content
		case there:
			delete(tree, e.Path)
		default:
			return refuse(422, "GitRPC::BadObjectState")
		}
	}
	g.trees[idOf(tree)] = tree
	return 201, doc{"sha": idOf(tree)}
}

func (g *gitRepository) putFile(r *request) (int, any) {
	branch, path := r.text("branch"), r.PathValue("path")
	tree := maps.Clone(g.commits[g.refs[branch]].tree)
	old, there := tree[path]
	content, err := base64.StdEncoding.DecodeString(r.text("content"))
	switch {
	case err != nil:
		return refuse(422, err.Error())
	case there && r.text("sha") == "":
		return refuse(422, "Invalid request. \"sha\" wasn't supplied.")
	case there && r.text("sha") != idOf(old):
		return refuse(409, path+" does not match "+r.text("sha"))
	}
	tree[path] = string(content)
	g.refs[branch] = g.commit(r.text("message"), g.refs[branch], tree)
	return 201, doc{"content": doc{"path": path, "sha": idOf(tree[path])}, "commit": doc{"sha": g.refs[branch]}}
}
