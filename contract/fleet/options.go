package fleet

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

const fields = fielderror.Package("fleet")

// Options are the settings of [Run] and [Work]. All processes of a run have the same ID.
type Options struct {
	_ struct{}
	// ID names the run, and the streams that it has: 1 to 64 letters, digits, - and _. A run of
	// that name which was not deleted goes on. Required.
	ID string
	// Run are the options of the matrix. In Run, File is required, and Resume is a run file whose
	// units are not run again. In Work, Workers is the number of units at once, and neither file
	// matters. Harness and Keep must be equal in all processes, and Build too, if it is set.
	Run *contract.RunOptions
	// AckWait is the time after which the unit of a worker that died is run by another; 0: ten
	// seconds, and 100 ms at least. It matters in Run alone.
	AckWait time.Duration
	// Limit is the real time after which a worker gives a unit up, which counts as its death: its
	// program hangs, because the engine itself ends a cell by [contract.RunOptions].Watchdog. 0: what
	// the cells of the unit may take by it, twice. It matters in Work alone.
	Limit time.Duration
	// Replicas is the number of servers that store the streams; 0: 1. It matters in Run alone.
	Replicas int
	// Repeatable says that equal units have equal results, so two results of a unit that differ are
	// an error of Run. Without it they are a warning, and the first counts.
	Repeatable bool
	// OnProgress is called by Run after each result, one call at a time.
	OnProgress func(Progress)
	// OnWait is called with the reason each time a call of the server failed and is made again. It
	// may be called by several goroutines at once.
	OnWait func(why error)
}

// Progress is how far a run is.
type Progress struct {
	Units int // of the matrix
	Done  int // of them with a result
	Died  int // of them given up, because their workers died
}

func (o *Options) check(nc *nats.Conn, m *contract.Matrix, coordinator bool) (Options, error) {
	p := fields.List()
	p.Demand(nc != nil, "conn", fielderror.Found("nil"), "a connection")
	p.Demand(m != nil, "matrix", fielderror.Found("nil"), "a matrix")
	if o == nil {
		o = &Options{}
	}
	own := *o
	run := contract.RunOptions{}
	if own.Run != nil {
		run = *own.Run
	}
	own.AckWait, own.Replicas, own.Run = cmp.Or(o.AckWait, 10*time.Second), cmp.Or(o.Replicas, 1), &run
	if !coordinator {
		run.File, run.Resume = "", ""
	}
	p.Demand(wholeID.MatchString(o.ID), "Options.ID", o.ID, "1 to 64 letters, digits, - and _")
	p.Demand(own.AckWait >= 100*time.Millisecond, "Options.AckWait", o.AckWait, "100ms or more, or 0 for ten seconds")
	p.Demand(o.Limit >= 0, "Options.Limit", o.Limit, "a duration above 0, or 0 for that of the cells")
	p.Demand(o.Replicas >= 0, "Options.Replicas", o.Replicas, "1 or more, or 0 for 1")
	p.Demand(!coordinator || run.File != "", "Options.Run.File", fielderror.Found("empty"), "the path of the run file")
	p.Demand(run.Shard == contract.Shard{}, "Options.Run.Shard", fielderror.Found(fmt.Sprint(run.Shard)), "none: a fleet has all units")
	return own, p.Err()
}

var wholeID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
