package lies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// row is a kind of lies with parameters P: what suits them, in words and as a rank, and what they
// do to a value that does. It returns false where nothing would change.
func row[P any](r catalog.Row, wants string, rank func(e *edit, i int) int,
	apply func(e *edit, i int, p P) bool) *catalog.Own[P, chaos.Fault] {
	return lieRow(r, func(p P) lie {
		return lie{wants: wants, rank: rank, apply: func(e *edit, i int) bool { return apply(e, i, p) }}
	})
}

// lieRow is a kind of lies of which more depends on the parameters.
func lieRow[P any](r catalog.Row, make func(P) lie) *catalog.Own[P, chaos.Fault] {
	return &catalog.Own[P, chaos.Fault]{Row: r, Make: func(m catalog.Made[P]) chaos.Fault {
		l := make(m.Params)
		l.made, l.wrong = m, catalog.Check{Kind: r.Kind}
		if p, ok := any(m.Params).(interface {
			places() (param string, paths []string)
		}); ok {
			l.parse(p.places())
		}
		return &l
	}}
}

// parse reads the paths of a parameter; # in its name is the number of the path. Check reports those that are none.
func (l *lie) parse(param string, paths []string) {
	l.addressed = len(paths) > 0
	for i, text := range paths {
		path, err := jsonpath.Parse(text)
		if err == nil {
			l.where = append(l.where, path)
			continue
		}
		place := strings.Replace(param, "#", strconv.Itoa(i), 1)
		l.wrong.That(false, place, fmt.Sprintf("%q", text),
			fmt.Sprintf(`a JSON path such as "$.items[0].price" (%v)`, err))
	}
}

func (l *lie) Check() error {
	return errors.Join(append(fielderror.Apart(l.made.Check()), fielderror.Apart(l.wrong.Err())...)...)
}

// made is the part of a fault that knows its row and parameters.
type made interface {
	chaos.Checked
	chaos.Described
	Kind() string
}

// lie is the form of nearly all faults here: the places that suit it, and what
// it does to the value at such a place.
type lie struct {
	made
	addressed bool             // there are paths
	where     []*jsonpath.Path // of the paths, those that parse
	wrong     catalog.Check    // the others
	inner     *lie             // the lie that it applies to another document, and whose class and layer it has

	wants string                    // what suits, for the note of a lie that found nothing
	rank  func(e *edit, i int) int  // 0: node i does not suit; 1 is better than 2, and so on
	apply func(e *edit, i int) bool // changes node i; false: nothing would change
	// whole changes the document in place of rank and apply; nil: they do.
	whole func(e *edit, where []*jsonpath.Path)
}

// maxRank is the last of the ranks.
const maxRank = 4

// where is a parameter of nearly all lies.
type where struct {
	Paths []string `json:"paths,omitempty" doc:"JSON paths of the values that are changed; left out: a place that suits is drawn"`
}

func pathsIn(paths []string) where { return where{slices.Clone(paths)} }

func (p where) places() (string, []string) { return "paths[#]", p.Paths }

func (l *lie) Phase() chaos.Phase { return chaos.PhaseChange }

func (l *lie) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	return onResult(ctx, c, args, next, l, func(result any) (any, error) {
		return editResult(ctx, c, result, l.Kind(), l.wants, l.applyTo)
	})
}

// onResult makes the call and has change act on its result. Of an HTTP response f acts on
// the body.
func onResult(ctx context.Context, c chaos.Call, args any, next chaos.Next, f chaos.Fault,
	change func(result any) (any, error)) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	if r, ok := result.(bodied); ok {
		return r.OnBody(ctx, c, args, f)
	}
	return change(result)
}

// editResult applies a lie of a kind to a result that it wants something in.
func editResult(ctx context.Context, c chaos.Call, result any, kind, wants string, apply func(*edit)) (any, error) {
	in, why := open(result)
	if why != "" {
		chaos.Note(ctx, why)
		return result, nil
	}
	e := &edit{call: c, doc: in.doc, plain: in.plain}
	apply(e)
	return e.finish(ctx, in, kind, wants)
}

// applyTo changes every place that the paths name, or one that is drawn.
func (l *lie) applyTo(e *edit) {
	e.addressed = l.addressed
	switch {
	case l.whole != nil:
		l.whole(e, l.where)
	case !e.addressed:
		e.applyToOne(l.rank, l.apply)
	default:
		for _, i := range e.find(l.where) {
			if l.rank(e, i) > 0 {
				l.apply(e, i)
			}
		}
	}
}

func (l *lie) Describe() chaos.Description {
	d := l.made.Describe()
	if l.inner != nil {
		of := l.inner.Describe()
		d.Class, d.Layer = of.Class, of.Layer
	}
	return d
}

// all ranks the nodes that suit alike.
func all(suits func(e *edit, i int) bool) func(*edit, int) int {
	return func(e *edit, i int) int {
		if suits(e, i) {
			return 1
		}
		return 0
	}
}

// isMeant reports whether a path names a node; without paths the whole result is.
func isMeant(e *edit, i int) bool { return e.addressed || i == 0 }

// isMember reports whether a node is a member; an element is only if a path names it.
func isMember(e *edit, i int) bool { return e.addressed && i > 0 || e.doc.IsMember(i) }

func ofKind(k jsonedit.Kind) func(*edit, int) int {
	return all(func(e *edit, i int) bool { return e.doc.Kind(i) == k })
}

func lists(least int) func(*edit, int) int {
	return all(func(e *edit, i int) bool { return e.doc.Kind(i) == jsonedit.Array && len(e.doc.Children(i)) >= least })
}

// nameOf is the name of node i, or of the list that contains it.
func nameOf(e *edit, i int) string {
	for ; i > 0; i = int(e.doc.Nodes[i].Parent) {
		if e.doc.IsMember(i) {
			return e.doc.Name(i)
		}
	}
	return ""
}

// isID reports whether a name is that of an identifier: id, order_id, orderId,
// orderID, uuid, sku, ref.
func isID(name string) bool {
	for _, end := range []string{"_id", "-id", "_ids", "Id", "Ids", "ID", "IDs", "_ref", "Ref"} {
		if len(name) > len(end) && strings.HasSuffix(name, end) {
			return true
		}
	}
	switch strings.ToLower(name) {
	case "id", "ids", "uuid", "guid", "sku", "ref", "reference", "key":
		return true
	}
	return false
}

// isScalar reports whether a value of that kind has nothing below it.
func isScalar(k jsonedit.Kind) bool { return k != jsonedit.Array && k != jsonedit.Object }

// Rows returns the rows of this package's faults, in the order of the
// documentation. The caller may keep and change the list and the rows: they are
// copies.
func Rows() []*catalog.Row {
	return catalog.List(
		emptyRow, nullRow, missingRow, cutTextRow, cutListRow, missingPageRow, partialBatchRow,
		malformedRow, htmlPageRow, errorBodyRow, mojibakeRow, oversizedRow,
		wrongNumberRow, scaleRow, flipSignRow, swapDigitsRow, offByOneRow, overflowRow, notANumberRow,
		shiftDateRow, swapUnitRow, flipTypeRow,
		swapFieldsRow, swapEntityRow,
		fabricateRecordRow, danglingReferenceRow, duplicateRowsRow, reorderRowsRow,
		staleRow, frozenRow, crossedRow, replayedRow,
		contradictRow,
		renameKeyRow, removeKeyRow, addKeyRow, retypeRow, envelopeRow, schemaDriftRow, unknownEnumRow,
		inTextRow, argumentsRow,
		attacks[Instruction], attacks[Authority], attacks[Exfiltration], attacks[GoalHijack],
		poisonToolRow, shadowToolRow, churnToolsRow, changeArguments,
		truncateMessagesRow, staleMessagesRow, dropMessagesRow, reorderMessagesRow,
		duplicateMessageRow, noiseMessagesRow, overflowMessagesRow, poisonRow, rollBackRow)
}
