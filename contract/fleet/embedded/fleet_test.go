package embedded_test

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/fleet"
	"github.com/shakedown-go/shakedown/contract/fleet/embedded"
)

// Eight worker processes, of which one is killed after every tenth result, and the server twice.
func TestKilledProcesses(t *testing.T) {
	for seed := range uint64(2) {
		ctx, dir := within(t), t.TempDir()
		server, address := spawn(t, "server", dirEnv+"="+dir)
		at, err := url.Parse(address)
		require.NoError(t, err)
		env := []string{urlEnv + "=" + address, idEnv + "=killed"}
		draw := rand.New(rand.NewPCG(seed, 31))
		var workers []*os.Process
		begin := func() {
			cmd, _ := spawn(t, "worker", env...)
			workers = append(workers, cmd.Process)
		}
		for range 8 {
			begin()
		}
		kills := 0
		o := options(t, "killed")
		o.OnProgress = func(p fleet.Progress) {
			if p.Done%10 == 5 {
				i := draw.IntN(len(workers))
				assert.NoError(t, workers[i].Kill())
				workers = append(workers[:i], workers[i+1:]...)
				begin()
				kills++
			}
			if p.Done == 30 || p.Done == 60 {
				assert.NoError(t, server.Process.Kill())
				_ = server.Wait()
				server, _ = spawn(t, "server", dirEnv+"="+dir, urlEnv+"="+at.Port())
			}
		}
		r, err := fleet.Run(ctx, connect(t, address), desk(0, ""), o)
		require.NoError(t, err, "seed %d", seed)
		assert.Equal(t, ofOne(t, contract.RunOptions{}), stable(t, r), "seed %d", seed)
		assert.Greater(t, kills, 5)
		file, err := os.Open(o.Run.File)
		require.NoError(t, err)
		read := new(contract.Report)
		require.NoError(t, read.ReadRun(file, false))
		require.NoError(t, file.Close())
		assert.Equal(t, stable(t, r), stable(t, read), "the file has what the report has")
	}
}

func TestTwoFleetsAtOnce(t *testing.T) {
	ctx, s := within(t), serve(t)
	reports := make(chan *contract.Report, 2)
	for _, id := range []string{"a", "b"} {
		m, o := desk(0, ""), options(t, id)
		if id == "b" {
			m.Seed++
		}
		wait := working(ctx, t, s.URL(), m, o, 2)
		go func() {
			r, err := fleet.Run(ctx, connect(t, s.URL()), m, o)
			assert.NoError(t, err)
			wait()
			reports <- r
		}()
	}
	first, second := <-reports, <-reports
	if first.Seed > second.Seed {
		first, second = second, first
	}
	assert.Equal(t, ofOne(t, contract.RunOptions{}), stable(t, first))
	assert.NotEqual(t, stable(t, first), stable(t, second))
	for _, id := range []string{"a", "b", "b"} {
		require.NoError(t, fleet.Delete(ctx, connect(t, s.URL()), id), "also of a run that is gone")
	}
	js, err := jetstream.New(connect(t, s.URL()))
	require.NoError(t, err)
	account, err := js.AccountInfo(ctx)
	require.NoError(t, err)
	assert.Zero(t, account.Streams)
}

func TestAnotherProgramIsRefused(t *testing.T) {
	ctx, s := within(t), serve(t)
	nc := connect(t, s.URL())
	o := options(t, "build")
	o.Run.Build = "v1"
	o.OnProgress = at(1, func() {
		for _, row := range []struct {
			want   string
			change func(*contract.Matrix, *contract.RunOptions)
		}{
			{"head.build", func(_ *contract.Matrix, o *contract.RunOptions) { o.Build = "v2" }},
			{"head.seed", func(m *contract.Matrix, _ *contract.RunOptions) { m.Seed++ }},
		} {
			m, run := desk(0, ""), *o.Run
			row.change(m, &run)
			run.File = filepath.Join(t.TempDir(), "x.run.jsonl")
			other := &fleet.Options{ID: o.ID, Run: &run}
			assert.ErrorContains(t, fleet.Work(ctx, nc, m, other), row.want)
			_, err := fleet.Run(ctx, nc, m, other)
			assert.ErrorContains(t, err, row.want, "nor may it have the ID")
		}
	})
	wait := working(ctx, t, s.URL(), desk(0, ""), o, 1)
	_, err := fleet.Run(ctx, nc, desk(0, ""), o)
	require.NoError(t, err)
	wait()
}

// The server goes away, and comes back with what it had long before: units that were done are in
// neither queue nor bucket, and others are queued though they are done.
func TestAServerThatForgets(t *testing.T) {
	ctx, dir := within(t), t.TempDir()
	s, err := embedded.Start(&embedded.Options{Dir: dir})
	require.NoError(t, err)
	address := s.URL()
	at, err := url.Parse(address)
	require.NoError(t, err)
	port, err := strconv.Atoi(at.Port())
	require.NoError(t, err)
	restart := func(between func()) {
		s.Close()
		between()
		for s = nil; s == nil; { // another process may have the port for a moment
			s, err = embedded.Start(&embedded.Options{Dir: dir, Port: port})
			require.NoError(t, ctx.Err(), "%v", err)
		}
	}
	old := filepath.Join(t.TempDir(), "old")
	o := options(t, "forgets")
	waits := make(chan error, 1000)
	o.OnWait = func(why error) {
		select {
		case waits <- why:
		default:
		}
	}
	o.OnProgress = func(p fleet.Progress) {
		switch p.Done {
		case 20:
			restart(func() { require.NoError(t, os.CopyFS(old, os.DirFS(dir))) })
		case 60:
			restart(func() {
				require.NoError(t, os.RemoveAll(dir))
				require.NoError(t, os.CopyFS(dir, os.DirFS(old)))
			})
		}
	}
	wait := working(ctx, t, address, desk(time.Millisecond, ""), o, 2)
	r, err := fleet.Run(ctx, connect(t, address), desk(0, ""), o)
	require.NoError(t, err)
	wait()
	assert.Equal(t, ofOne(t, contract.RunOptions{}), stable(t, r))
	assert.NotEmpty(t, waits, "who waits says so")
	s.Close()
}

// Results that the coordinator did not see are lost, and their units are no longer queued.
func TestABucketThatIsRolledBackHeals(t *testing.T) {
	ctx, s := within(t), serve(t)
	nc := connect(t, s.URL())
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	o := options(t, "back")
	first, cancel := context.WithCancel(ctx)
	o.OnProgress = at(1, cancel)
	wait := working(ctx, t, s.URL(), desk(0, ""), o, 2)
	_, err = fleet.Run(first, nc, desk(0, ""), o)
	require.ErrorIs(t, err, context.Canceled)
	bucket, err := js.KeyValue(ctx, "shakedown-back")
	require.NoError(t, err)
	watch, err := bucket.Watch(ctx, "unit.*")
	require.NoError(t, err)
	for n := 0; n < 90; {
		if e := <-watch.Updates(); e != nil {
			n++
		}
	}
	require.NoError(t, watch.Stop())
	stream, err := js.Stream(ctx, "KV_shakedown-back")
	require.NoError(t, err)
	require.NoError(t, stream.Purge(ctx, jetstream.WithPurgeSequence(stream.CachedInfo().State.LastSeq-40)))
	o.OnProgress = nil
	r, err := fleet.Run(ctx, nc, desk(0, ""), o)
	require.NoError(t, err)
	wait()
	assert.Equal(t, ofOne(t, contract.RunOptions{}), stable(t, r))
}

func TestAUnitThatKillsItsWorkers(t *testing.T) {
	ctx, s := within(t), serve(t)
	nc := connect(t, s.URL())
	o := options(t, "poison")
	o.AckWait = time.Second
	env := []string{urlEnv + "=" + s.URL(), idEnv + "=poison", poisonEnv + "=calm/7"}
	stop := make(chan struct{})
	respawned := make(chan struct{})
	go func() { // a worker that dies is started again, as an engine would
		defer close(respawned)
		for range 8 {
			cmd, _ := spawn(t, "worker", env...)
			err := cmd.Wait()
			select {
			case <-stop:
				return
			default:
			}
			if err == nil {
				return
			}
		}
	}()
	r, err := fleet.Run(ctx, nc, desk(0, ""), o)
	close(stop)
	require.NoError(t, err)
	<-respawned
	died := 0
	for _, c := range r.Cells {
		if c.Why == "its worker died three times" {
			died++
			assert.Equal(t, contract.Inconclusive, c.State)
			assert.Equal(t, "calm", c.Cell.Scenario)
			assert.Equal(t, 7, c.Cell.Trial)
		}
	}
	assert.Equal(t, 2, died, "both cells of the unit")

	// A resumed run tries it again, by the server's streams or by the file alone.
	for _, id := range []string{"poison", "other"} {
		again := options(t, id)
		again.Run.Resume = o.Run.File
		wait := working(ctx, t, s.URL(), desk(0, ""), again, 1)
		r, err = fleet.Run(ctx, nc, desk(0, ""), again)
		require.NoError(t, err)
		wait()
		assert.Equal(t, ofOne(t, contract.RunOptions{}), stable(t, r))
	}
}

// A worker that is asked to end gives its unit back at once: the lease is an hour.
func TestAWorkerThatEndsGivesItsUnitBack(t *testing.T) {
	ctx, s := within(t), serve(t)
	o := options(t, "polite")
	o.AckWait, o.Run.Workers = time.Hour, 1
	begun := make(chan struct{}, 100)
	slow := desk(0, "")
	made := slow.NewWorld
	slow.NewWorld = func(ctx context.Context) (*contract.World, error) {
		if c, _ := contract.CellOf(ctx); c.Trial > 0 {
			begun <- struct{}{}
			<-ctx.Done()
		}
		return made(ctx)
	}
	for range 4 { // more often than a unit may die
		leaving, leave := context.WithCancel(ctx)
		wait := working(leaving, t, s.URL(), slow, o, 1)
		running, end := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			_, _ = fleet.Run(running, connect(t, s.URL()), desk(0, ""), o)
			close(ended)
		}()
		<-begun
		leave()
		wait()
		end()
		<-ended
	}
	working(ctx, t, s.URL(), desk(0, ""), o, 1)
	r, err := fleet.Run(ctx, connect(t, s.URL()), desk(0, ""), o)
	require.NoError(t, err)
	assert.Equal(t, ofOne(t, contract.RunOptions{}), stable(t, r))
}

func TestAResultThatNoMessageHolds(t *testing.T) {
	ctx, s := within(t), serve(t)
	long := func() *contract.Matrix {
		m := desk(0, "")
		m.Trials = 2
		made := m.NewWorld
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			w, err := made(ctx)
			agent := w.Agent
			w.Agent = func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				said, err := agent(ctx, prompt, tools)
				return said + strings.Repeat(" or later", 1<<18), err
			}
			return w, err
		}
		return m
	}
	o := options(t, "long")
	o.Run.Keep = contract.KeepAll
	wait := working(ctx, t, s.URL(), long(), o, 1)
	r, err := fleet.Run(ctx, connect(t, s.URL()), long(), o)
	require.NoError(t, err)
	wait()
	want, err := long().Run(ctx, &contract.RunOptions{Keep: contract.KeepAll})
	require.NoError(t, err)
	assert.True(t, stable(t, want) == stable(t, r))
}

func TestAgentsThatDoNotRepeatThemselves(t *testing.T) {
	ctx, s := within(t), serve(t)
	nc := connect(t, s.URL())
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	o := options(t, "differ")
	first, cancel := context.WithCancel(ctx)
	o.OnProgress = at(1, cancel)
	working(first, t, s.URL(), desk(0, ""), o, 1)
	_, err = fleet.Run(first, nc, desk(0, ""), o)
	require.ErrorIs(t, err, context.Canceled)
	bucket, err := js.KeyValue(ctx, "shakedown-differ")
	require.NoError(t, err)
	_, err = bucket.Put(ctx, "conflict.63616c6d2f31", nil) // calm/1
	require.NoError(t, err)
	o.OnProgress = nil
	wait := working(ctx, t, s.URL(), desk(0, ""), o, 1)
	_, err = fleet.Run(ctx, nc, desk(0, ""), o)
	wait()
	assert.ErrorContains(t, err, "calm/1")
}

func TestWhatNoFleetRuns(t *testing.T) {
	ctx, s := within(t), serve(t)
	nc, dir := connect(t, s.URL()), t.TempDir()
	file := filepath.Join(dir, "x.run.jsonl")
	_, err := desk(0, "").Run(ctx, &contract.RunOptions{File: file, Build: "v1"})
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	empty, damaged := put("empty", ""), put("damaged", strings.Replace(string(text), `"states":"h`, `"states":"b`, 1))
	for _, row := range []struct {
		want   string
		change func(*fleet.Options, *contract.Matrix)
	}{
		{"Options.ID is \"\"; allowed: 1 to 64", func(o *fleet.Options, _ *contract.Matrix) { o.ID = "" }},
		{"Options.ID is \"a b\"", func(o *fleet.Options, _ *contract.Matrix) { o.ID = "a b" }},
		{"Options.AckWait is 1ms", func(o *fleet.Options, _ *contract.Matrix) { o.AckWait = time.Millisecond }},
		{"Options.Limit is -1ns", func(o *fleet.Options, _ *contract.Matrix) { o.Limit = -1 }},
		{"Options.Replicas is -1", func(o *fleet.Options, _ *contract.Matrix) { o.Replicas = -1 }},
		{"Options.Run.File is empty", func(o *fleet.Options, _ *contract.Matrix) { o.Run.File = "" }},
		{"Options.Run.File is empty", func(o *fleet.Options, _ *contract.Matrix) { o.Run = nil }},
		{"Options.Run.Shard is 1/2", func(o *fleet.Options, _ *contract.Matrix) { o.Run.Shard = contract.Shard{Index: 1, Count: 2} }},
		{"RunOptions.Sequential is true", func(o *fleet.Options, _ *contract.Matrix) { o.Run.Sequential = true }},
		{dir, func(o *fleet.Options, _ *contract.Matrix) { o.Run.File = dir }},
		{"RunOptions.Resume: " + dir + " is a folder", func(o *fleet.Options, _ *contract.Matrix) { o.Run.Resume = dir }},
		{"/none: no such file", func(o *fleet.Options, _ *contract.Matrix) { o.Run.Resume = filepath.Join(dir, "none") }},
		{"/empty is empty; allowed: a run file", func(o *fleet.Options, _ *contract.Matrix) { o.Run.Resume = empty }},
		{"/damaged:2:1: sum is another or none", func(o *fleet.Options, _ *contract.Matrix) { o.Run.Resume = damaged }},
		{"/x.run.jsonl: resume.build is \"v1\"; allowed: v2", func(o *fleet.Options, _ *contract.Matrix) { o.Run.Resume, o.Run.Build = file, "v2" }},
		{"/x.run.jsonl: resume.seed is 11; allowed: 7", func(o *fleet.Options, m *contract.Matrix) { o.Run.Resume, m.Seed = file, 7 }},
	} {
		m, o := desk(0, ""), options(t, "refused")
		row.change(o, m)
		_, err := fleet.Run(ctx, nc, m, o)
		assert.ErrorContains(t, err, row.want)
	}
	_, err = fleet.Run(ctx, nil, nil, nil)
	assert.ErrorContains(t, err, "conn is nil")
	assert.ErrorContains(t, err, "matrix is nil")
	assert.ErrorContains(t, fleet.Work(ctx, nil, nil, nil), "Options.ID is")
	assert.ErrorContains(t, fleet.Delete(ctx, nc, "a.b"), "id is")
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	account, err := js.AccountInfo(ctx)
	require.NoError(t, err)
	assert.Zero(t, account.Streams, "the server was not asked for anything")
}

func TestStartRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, row := range []struct {
		reason, want string
		o            *embedded.Options
	}{
		{"no folder", "Options.Dir", nil},
		{"a name", "Options.Host", &embedded.Options{Dir: dir, Host: "localhost"}},
		{"all addresses without credentials", "loopback", &embedded.Options{Dir: dir, Host: "0.0.0.0"}},
		{"without TLS", "loopback", &embedded.Options{Dir: dir, Host: "0.0.0.0", User: "a", Password: "b"}},
		{"without credentials", "loopback", &embedded.Options{Dir: dir, Host: "::", TLS: &tls.Config{}}},
		{"half of the credentials", "Options.Password", &embedded.Options{Dir: dir, User: "a"}},
		{"no port", "Options.Port", &embedded.Options{Dir: dir, Port: 70000}},
	} {
		_, err := embedded.Start(row.o)
		assert.ErrorContains(t, err, row.want, row.reason)
	}
	s, err := embedded.Start(&embedded.Options{Dir: dir, User: "a", Password: "b"})
	require.NoError(t, err)
	defer s.Close()
	_, err = nats.Connect(s.URL())
	assert.ErrorIs(t, err, nats.ErrAuthorization)
	nc, err := nats.Connect(s.URL(), nats.UserInfo("a", "b"))
	require.NoError(t, err)
	nc.Close()
}
