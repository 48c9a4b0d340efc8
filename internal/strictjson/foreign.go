package strictjson

// What another parser, such as one of YAML, makes nodes with.

// Foreign makes data the text in which offsets of nodes are places. The nodes are
// those of another parser.
func (p *Problems) Foreign(data []byte) { p.data = data }

// At sets the offset of the first byte of a value in its document, and returns n.
func (n *Node) At(offset int) *Node {
	n.at = offset
	return n
}

// Add adds a member to an object, whose name begins at an offset. It reports
// whether there was none of that name; else it adds nothing.
func (n *Node) Add(key string, offset int, kid *Node) bool {
	if !n.add(key, kid) {
		return false
	}
	n.keysAt = append(n.keysAt, offset)
	return true
}

// Some returns an object with the members for which keep returns true, at the same place.
func (n *Node) Some(keep func(key string) bool) *Node {
	some := &Node{Kind: n.Kind, Text: n.Text, at: n.at}
	for i, key := range n.Keys {
		if !keep(key) {
			continue
		}
		if some.add(key, n.Kids[i]); n.keysAt != nil {
			some.keysAt = append(some.keysAt, n.keysAt[i])
		}
	}
	return some
}

// Key is a node at the place of the name of the i-th member, or of its value if the
// place of the name is not known.
func (n *Node) Key(i int) *Node {
	if n.keysAt == nil {
		return n.Kids[i]
	}
	return &Node{Kind: '"', Text: n.Keys[i], at: n.keysAt[i]}
}
