package repocheck

import (
	"archive/zip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The modules that users require, by their folder.
var published = []string{".", "mcpadapter"}

// unreleased is the version that the modules of the repository require of each
// other until the first release.
const unreleased = "v0.0.0"

// A stranger who requires the library builds it from the released files alone: a
// replace in its go.mod does not reach them, and neither does go.work.
func TestStrangersBuildTheModules(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	proxy := t.TempDir()
	for _, dir := range published {
		publish(t, proxy, dir)
	}
	for _, tc := range []struct {
		name, program string
		modules       []string
		without       string // no module of that path may come along
	}{
		{"the root alone", `import _ "` + module + `/contract/contracttest"`, published[:1], "github.com/modelcontextprotocol/go-sdk"},
		{"chaos alone", `import _ "` + module + `/chaos/fault"`, published[:1], "github.com/modelcontextprotocol/go-sdk"},
		{"the adapter", `import _ "` + module + `/mcpadapter"`, published, "gocloud.dev"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user := scratch{t: t, dir: t.TempDir(), proxy: proxy}
			require.NoError(t, os.WriteFile(filepath.Join(user.dir, "main.go"), []byte("package main\n\n"+tc.program+"\n\nfunc main() {}\n"), 0o600))
			user.run("mod", "init", "example.com/stranger")
			for _, dir := range tc.modules {
				user.run("get", path.Join(module, dir)+"@"+unreleased)
			}
			user.run("mod", "tidy")
			user.run("build", "-trimpath", "-o", os.DevNull, ".")
			brought := user.run("list", "-m", "all")
			assert.NotContains(t, brought, tc.without, "what a user inherits")
		})
	}
}

// scratch is the module of a user.
type scratch struct {
	t          *testing.T
	dir, proxy string
}

// run runs the go command, which finds our modules at the proxy alone and others
// where they have been downloaded to, or at the usual proxy.
func (s scratch) run(args ...string) string {
	s.t.Helper()
	env := goEnv(s.t)
	cmd := exec.Command("go", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw", "GONOSUMDB="+module+","+module+"/*",
		"GOMODCACHE="+filepath.Join(s.proxy, "modcache"),
		"GOPROXY=file://"+filepath.ToSlash(s.proxy)+",file://"+filepath.ToSlash(env["GOMODCACHE"])+"/cache/download,"+env["GOPROXY"])
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "go %s:\n%s", strings.Join(args, " "), out)
	return string(out)
}

func goEnv(t *testing.T) map[string]string {
	t.Helper()
	names := []string{"GOMODCACHE", "GOPROXY"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	require.NoError(t, err)
	env := make(map[string]string)
	for i, line := range strings.Split(strings.TrimRight(string(out), "\n"), "\n") {
		env[names[i]] = strings.TrimSpace(line)
	}
	return env
}

// publish puts a module of the working tree into a proxy: what a tag of it would
// hold.
func publish(t *testing.T, proxy, dir string) {
	t.Helper()
	importPath := path.Join(module, dir)
	at := filepath.Join(proxy, filepath.FromSlash(importPath), "@v")
	require.NoError(t, os.MkdirAll(at, 0o700))
	mod, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(at, unreleased+".mod"), mod, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(at, unreleased+".info"), []byte(`{"Version":"`+unreleased+`"}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(at, "list"), []byte(unreleased+"\n"), 0o600))
	file, err := os.Create(filepath.Join(at, unreleased+".zip"))
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	for _, name := range moduleFiles(t, dir) {
		text, err := os.ReadFile(filepath.Join(root, dir, name))
		require.NoError(t, err)
		w, err := archive.Create(importPath + "@" + unreleased + "/" + name)
		require.NoError(t, err)
		_, err = w.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())
}

// moduleFiles lists the files of a module, slash-separated from its folder, without
// those of modules below it and what git does not have.
func moduleFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	below := path.Join(dir, ".") + "/"
	var modules []string
	for _, mod := range filesOfRepository(t, "go.mod") {
		if d := path.Dir(mod); d != path.Clean(dir) && (dir == "." || strings.HasPrefix(d, below)) {
			modules = append(modules, d+"/")
		}
	}
	for _, file := range filesOfRepository(t, "") {
		inside := dir == "." || strings.HasPrefix(file, below)
		for _, other := range modules {
			inside = inside && !strings.HasPrefix(file, other)
		}
		if inside {
			if dir != "." {
				file = strings.TrimPrefix(file, below)
			}
			files = append(files, file)
		}
	}
	require.Contains(t, files, "go.mod")
	return files
}
