package jsondoc

// take splits an object or list into its parts, one level deep.
func (v *Value) take() {
	if v == nil || v.split || v.kind != '{' && v.kind != '[' {
		return
	}
	v.split = true
	at := Space(v.raw, 1)
	for v.raw[at] != '}' && v.raw[at] != ']' {
		var key []byte
		if v.kind == '{' {
			end := After(v.raw, at)
			key = v.raw[at:end]
			at = Space(v.raw, Space(v.raw, end)+1) // the colon
		}
		end := After(v.raw, at)
		v.parts = append(v.parts, member{key, from(v.raw[at:end:end], v)})
		at = Space(v.raw, end)
		if v.raw[at] == ',' {
			at = Space(v.raw, at+1)
		}
	}
}

// write puts a changed object or list together again.
func (v *Value) write() []byte {
	out := []byte{v.kind}
	for i, p := range v.parts {
		if i > 0 {
			out = append(out, ',')
		}
		if p.key != nil {
			out = append(append(out, p.key...), ':')
		}
		out = append(out, p.value.Bytes()...)
	}
	return append(out, v.kind+2) // '}' is '{'+2, and ']' is '['+2
}
