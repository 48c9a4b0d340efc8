package jsonvalue

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// absent stands for a member or an element that is not there.
type absent struct{}

var pointerPart = strings.NewReplacer("~", "~0", "/", "~1")

// FirstPlace is the first place in which two decoded documents differ, as a JSON pointer (RFC 6901),
// and the JSON that they have there: "nothing" where one has no such member or element.
func FirstPlace(a, b any) (at, first, second string, differ bool) {
	at, x, y, differ := firstPlace("", a, b)
	return at, shown(x), shown(y), differ
}

func firstPlace(path string, a, b any) (at string, x, y any, differ bool) {
	m, isObject := a.(map[string]any)
	n, both := b.(map[string]any)
	if isObject && both {
		names := maps.Clone(m)
		maps.Copy(names, n)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			at, x, y, differ = firstPlace(path+"/"+pointerPart.Replace(name), member(m, name), member(n, name))
			if differ {
				return at, x, y, true
			}
		}
		return "", nil, nil, false
	}
	list, isList := a.([]any)
	other, both := b.([]any)
	if isList && both {
		for i := range max(len(list), len(other)) {
			at, x, y, differ = firstPlace(fmt.Sprintf("%s/%d", path, i), element(list, i), element(other, i))
			if differ {
				return at, x, y, true
			}
		}
		return "", nil, nil, false
	}
	return path, a, b, !reflect.DeepEqual(a, b)
}

func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

func shown(v any) string {
	if _, none := v.(absent); none {
		return "nothing"
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(doc)
}
