package completion

import (
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Salts of the draws about arguments: ASCII for "argument" and "wrong".
const (
	drawArgument = 0x617267756d656e74
	drawWrong    = 0x77726f6e67
)

// member parses arguments and finds one of them, by its name or drawn; -1: there is none.
func member(c chaos.Call, args, name string) (doc *jsonedit.Value, at int) {
	doc, ok := jsonedit.ParseValue([]byte(args))
	if !ok || doc.Kind() != jsonedit.Object || doc.Len() == 0 {
		return nil, -1
	}
	if name == "" {
		return doc, int(c.Draw(drawArgument) * float64(doc.Len()))
	}
	for i := range doc.Len() {
		if doc.Key(i) == name {
			return doc, i
		}
	}
	return nil, -1
}

func withoutMember(c chaos.Call, args, name string) string {
	doc, at := member(c, args, name)
	if at < 0 {
		return args
	}
	doc.Remove(at)
	return string(doc.Bytes())
}

func withWrongMember(c chaos.Call, args, name string) string {
	doc, at := member(c, args, name)
	if at < 0 {
		return args
	}
	mistake(c, doc.At(at))
	return string(doc.Bytes())
}

// mistake replaces a value by another of its type.
func mistake(c chaos.Call, v *jsonedit.Value) {
	switch v.Kind() {
	case jsonedit.String:
		text, _ := v.Text()
		v.Put(jsonedit.Of(misspelt(c, text)).Bytes())
	case jsonedit.Bool:
		v.Put(strconv.AppendBool(nil, v.Bytes()[0] == 'f'))
	case jsonedit.Null:
		v.Put([]byte("0"))
	case jsonedit.Object, jsonedit.Array:
		if v.Len() > 0 {
			mistake(c.Sub(v.Len()), v.At(int(c.Draw(drawWrong)*float64(v.Len()))))
			return
		}
		v.Put([]byte("null"))
	default:
		number, _ := otherDigit(c, string(v.Bytes()))
		v.Put([]byte(number))
	}
}

// otherDigit changes the last digit of a text that has one.
func otherDigit(c chaos.Call, s string) (string, bool) {
	at := strings.LastIndexAny(s, "0123456789")
	if at < 0 {
		return s, false
	}
	digit := '0' + (s[at]-'0'+1+byte(c.Draw(drawWrong)*9))%10
	return s[:at] + string(rune(digit)) + s[at+1:], true
}

// misspelt is a text that differs in one place: one digit, or two letters
// exchanged.
func misspelt(c chaos.Call, s string) string {
	if other, ok := otherDigit(c, s); ok {
		return other
	}
	letters := []rune(s)
	if len(letters) == 0 {
		return "unknown"
	}
	start := int(c.Draw(drawWrong) * float64(len(letters)))
	for i := range letters {
		a := (start + i) % len(letters)
		if b := a + 1; b < len(letters) && letters[a] != letters[b] {
			letters[a], letters[b] = letters[b], letters[a]
			return string(letters)
		}
	}
	return s + "s"
}

// otherKeys renames the members of an object, or of the first object in a list:
// a drawn one, or all.
func otherKeys(c chaos.Call, text string, all bool) string {
	doc, ok := jsonedit.ParseValue([]byte(text))
	if !ok {
		return text
	}
	object := doc
	if doc.Kind() == jsonedit.Array {
		object = doc.At(0)
	}
	if object.Kind() != jsonedit.Object || object.Len() == 0 {
		return text
	}
	renameKeys(c, object, all)
	return string(doc.Bytes())
}

func renameKeys(c chaos.Call, doc *jsonedit.Value, all bool) {
	at := int(c.Draw(drawArgument) * float64(doc.Len()))
	for i := range doc.Len() {
		if all || i == at {
			doc.Rename(i, otherKey(doc.Key(i)))
		}
	}
}

// otherKey is a name in the other of the two usual styles, or with a suffix if
// both are the same: order_id, orderId; status, status_v2.
func otherKey(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		switch b := name[i]; {
		case b == '_' && i > 0 && i+1 < len(name):
			i++
			out.WriteString(strings.ToUpper(name[i : i+1]))
		case 'A' <= b && b <= 'Z' && i > 0:
			out.WriteString("_" + strings.ToLower(name[i:i+1]))
		default:
			out.WriteByte(b)
		}
	}
	if out.String() == name {
		return name + "_v2"
	}
	return out.String()
}
