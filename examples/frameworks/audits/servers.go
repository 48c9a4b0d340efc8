package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A server is a release of one, and what of it is audited.
type server struct {
	name    string // and version, as in the table
	folder  string // the module that builds its command, or package.json of the package that has it
	backend func(dir string) *backend
	// run is how it starts: arguments after the command, and environment besides.
	run   func(f *front) (args, env []string)
	calls []call
}

// A call is an example call of a tool. Where a tool does several things, does says which.
type call struct{ tool, does, args string }

// servers are those of the table in docs/audits.md, in its order.
var servers = []server{razorpayServer, githubServer, grafanaServer, filesystemServer}

// in makes a backend of a fake that needs no folder.
func in(fake func() *backend) func(string) *backend { return func(string) *backend { return fake() } }

// led is the environment of a server that cannot be told the address of its API: it is led to the backend by a proxy.
func led(f *front, env ...string) []string {
	return append(env, "HTTPS_PROXY="+f.url, "SSL_CERT_FILE="+f.certificate)
}

var razorpayServer = server{name: "razorpay-mcp-server v1.2.1", folder: "razorpay", backend: in(razorpay),
	run: func(f *front) (args, env []string) {
		return []string{"stdio"}, led(f, "RAZORPAY_KEY_ID=rzp_test_key", "RAZORPAY_KEY_SECRET=none")
	},
	calls: []call{
		{"create_refund", "of a part", `{"payment_id":"pay_captured","amount":10000}`},
		{"create_refund", "of the whole", `{"payment_id":"pay_captured","amount":100000}`},
		{"capture_payment", "", `{"payment_id":"pay_authorized","amount":100000,"currency":"INR"}`},
		{"create_order", "", `{"amount":10000,"currency":"INR"}`},
		{"create_payment_link", "", `{"amount":10000,"currency":"INR"}`},
		{"payment_link_upi_create", "", `{"amount":10000,"currency":"INR"}`},
		{"payment_link_notify", "", `{"payment_link_id":"plink_1","medium":"sms"}`},
		{"create_qr_code", "", `{"type":"upi_qr","usage":"single_use","fixed_amount":true,"payment_amount":10000}`},
		{"create_instant_settlement", "", `{"amount":10000}`},
		{"update_payment", "", `{"payment_id":"pay_captured","notes":{"order":"1042"}}`},
		{"update_order", "", `{"order_id":"order_1","notes":{"order":"1042"}}`},
		{"update_payment_link", "", `{"payment_link_id":"plink_1","notes":{"order":"1042"}}`},
		{"fetch_payment", "", `{"payment_id":"pay_captured"}`},
	}}

const inDemo = `{"owner":"octo","repo":"demo",`

var githubServer = server{name: "github-mcp-server v1.0.0", folder: "github", backend: in(github),
	run: func(f *front) (args, env []string) {
		return []string{"stdio", "--toolsets", "default,actions,gists,stargazers"}, led(f, "GITHUB_PERSONAL_ACCESS_TOKEN=none")
	},
	calls: []call{
		{"issue_write", "create", inDemo + `"method":"create","title":"broken"}`},
		{"issue_write", "update", inDemo + `"method":"update","issue_number":1,"title":"broken"}`},
		{"add_issue_comment", "", inDemo + `"issue_number":1,"body":"hello"}`},
		{"add_reply_to_pull_request_comment", "", inDemo + `"pullNumber":1,"commentId":1,"body":"hello"}`},
		{"create_pull_request", "", inDemo + `"title":"news","head":"news","base":"main"}`},
		{"update_pull_request", "", inDemo + `"pullNumber":1,"title":"news"}`},
		{"merge_pull_request", "", inDemo + `"pullNumber":1}`},
		{"create_branch", "", inDemo + `"branch":"news","from_branch":"main"}`},
		{"create_or_update_file", "create", inDemo + `"path":"new.txt","content":"new","message":"news","branch":"main"}`},
		{"create_or_update_file", "update", inDemo + `"path":"old.txt","content":"new","message":"news","branch":"main","sha":"` +
			idOf("old") + `"}`},
		{"push_files", "", inDemo + `"branch":"main","message":"news","files":[{"path":"new.txt","content":"new"}]}`},
		{"delete_file", "", inDemo + `"path":"old.txt","message":"news","branch":"main"}`},
		{"create_repository", "", `{"name":"news"}`},
		{"create_gist", "", `{"filename":"new.txt","content":"new"}`},
		{"actions_run_trigger", "run_workflow", inDemo + `"method":"run_workflow","workflow_id":"ci.yml","ref":"main"}`},
		{"star_repository", "", `{"owner":"octo","repo":"demo"}`},
		{"list_branches", "", `{"owner":"octo","repo":"demo"}`},
	}}

var grafanaServer = server{name: "mcp-grafana v1.6.3", folder: "grafana", backend: in(grafana),
	run: func(f *front) (args, env []string) {
		return []string{"--usage-stats", "disabled"}, []string{"GRAFANA_URL=" + f.url, "GRAFANA_SERVICE_ACCOUNT_TOKEN=none"}
	},
	calls: []call{
		{"update_dashboard", "create", `{"dashboard":{"title":"News","panels":[]}}`},
		{"update_dashboard", "append a panel", `{"uid":"demo","operations":[{"op":"add","path":"$.panels/-","value":{"title":"second"}}]}`},
		{"update_dashboard", "replace a title", `{"uid":"demo","operations":[{"op":"replace","path":"$.title","value":"News"}]}`},
		{"create_folder", "without uid", `{"title":"News"}`},
		{"create_folder", "with uid", `{"title":"News","uid":"news"}`},
		{"create_annotation", "", `{"dashboardUid":"demo","text":"deployed again","time":1764000000000}`},
		{"update_annotation", "", `{"id":1,"text":"deployed again"}`},
		{"create_snapshot", "", `{"dashboard":{"title":"Demo"},"name":"now"}`},
		{"alerting_manage_rules", "create", `{"operation":"create","title":"down","rule_group":"g","folder_uid":"home","condition":"A",` +
			`"data":[{"refId":"A","datasourceUid":"prom","model":{"expr":"up"}}],"no_data_state":"OK","exec_err_state":"OK","for":"1m","org_id":1}`},
		{"alerting_manage_silences", "create", `{"operation":"create","matchers":[{"name":"a","value":"b"}],` +
			`"starts_at":"2099-01-01T00:00:00Z","ends_at":"2099-01-02T00:00:00Z","comment":"quiet"}`},
		{"create_incident", "", `{"title":"it is down again","severity":"minor","roomPrefix":"room"}`},
		{"add_activity_to_incident", "", `{"incidentId":"1","body":"a note"}`},
		{"update_incident", "", `{"incidentId":"1","title":"it is up"}`},
		{"get_dashboard_by_uid", "", `{"uid":"demo"}`},
	}}

var filesystemServer = server{name: "server-filesystem 2026.8.31", folder: "filesystem", backend: folder,
	run: func(f *front) (args, env []string) { return []string{filepath.Join(f.dir, "demo")}, nil },
	calls: []call{
		{"write_file", "new", `{"path":"new.txt","content":"new"}`},
		{"write_file", "replace", `{"path":"old.txt","content":"new"}`},
		{"edit_file", "replace a line", `{"path":"old.txt","edits":[{"oldText":"second","newText":"two"}]}`},
		{"edit_file", "insert a line", `{"path":"old.txt","edits":[{"oldText":"second","newText":"second\nthird"}]}`},
		{"create_directory", "", `{"path":"new/folder"}`},
		{"move_file", "", `{"source":"old.txt","destination":"moved.txt"}`},
		{"read_text_file", "", `{"path":"old.txt"}`},
		{"list_directory", "", `{"path":"."}`},
	}}

// folder is the backend of the filesystem server: a folder demo in dir, with a file. Its state is its files and their contents.
func folder(dir string) *backend {
	demo := filepath.Join(dir, "demo")
	return newBackend(func() {
		fails(os.RemoveAll(demo), os.Mkdir(demo, 0o755), os.WriteFile(filepath.Join(demo, "old.txt"), []byte("first\nsecond\n"), 0o644))
	}, func() any {
		files := map[string]string{}
		fails(filepath.WalkDir(demo, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == demo {
				return err
			}
			name := strings.TrimPrefix(path, demo+string(filepath.Separator))
			files[name] = "a folder"
			if entry.IsDir() {
				return nil
			}
			content, err := os.ReadFile(path)
			files[name] = string(content)
			return err
		}))
		return files
	})
}

// fails ends the audit: its reset or its state cannot be trusted.
func fails(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
}
