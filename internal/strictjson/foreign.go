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
	n.more().at = append(n.more().at, offset)
	return true
}

// AddElement adds an element to a list.
func (n *Node) AddElement(kid *Node) {
	n.Kids = append(n.Kids, kid)
	kid.up = n
}

// Some returns an object with the members for which keep returns true, at the same place.
func (n *Node) Some(keep func(key string) bool) *Node {
	some := &Node{Kind: n.Kind, Text: n.Text, at: n.at}
	for i, key := range n.Keys {
		switch {
		case !keep(key):
		case n.hasPlaces():
			some.Add(key, n.names.at[i], n.Kids[i])
		default:
			some.add(key, n.Kids[i])
		}
	}
	return some
}

func (n *Node) hasPlaces() bool { return n.names != nil && n.names.at != nil }

// Key is a node at the place of the name of the i-th member, or of its value if the
// place of the name is not known.
func (n *Node) Key(i int) *Node {
	if !n.hasPlaces() {
		return n.Kids[i]
	}
	return &Node{Kind: '"', Text: n.Keys[i], at: n.names.at[i]}
}
