package jsondoc

// take splits an object or list into its parts, one level deep.
func (v *Value) take() {
	if v == nil || v.split || v.kind != '{' && v.kind != '[' {
		return
	}
	v.split = true
	at := space(v.raw, 1)
	for v.raw[at] != '}' && v.raw[at] != ']' {
		var key []byte
		if v.kind == '{' {
			end := after(v.raw, at)
			key = v.raw[at:end]
			at = space(v.raw, space(v.raw, end)+1) // the colon
		}
		end := after(v.raw, at)
		v.parts = append(v.parts, member{key, from(v.raw[at:end:end], v)})
		at = space(v.raw, end)
		if v.raw[at] == ',' {
			at = space(v.raw, at+1)
		}
	}
}

// space is the place of the first byte from at on that is not white space.
func space(doc []byte, at int) int {
	for doc[at] == ' ' || doc[at] == '\n' || doc[at] == '\t' || doc[at] == '\r' {
		at++
	}
	return at
}

// after is the end of the value that begins at the place. The document is
// known to be valid, so brackets can be counted.
func after(doc []byte, at int) int {
	depth := 0
	for ; at < len(doc); at++ {
		switch doc[at] {
		case '"':
			for at++; doc[at] != '"'; at++ {
				if doc[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 || !ends(doc, at+1) {
				continue
			}
		}
		if depth == 0 {
			return at + 1
		}
	}
	return at
}

// ends tells whether a number or a word is over before the place.
func ends(doc []byte, at int) bool {
	if at == len(doc) {
		return true
	}
	switch doc[at] {
	case ' ', '\n', '\t', '\r', ',', ':', '}', ']':
		return true
	}
	return false
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
