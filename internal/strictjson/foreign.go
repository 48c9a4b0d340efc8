package strictjson

// What another parser, such as one of YAML, makes nodes with.

// columns is more than the columns that a place keeps.
const columns = 1 << 24

// lineAndColumn is a place that is known by its line and column: below 0, where no offset is.
func lineAndColumn(line, column int) int64 {
	return -int64(line)*columns - int64(min(column, columns-1))
}

// At sets the line and the column of a value, both from 1, and returns n.
func (n *Node) At(line, column int) *Node {
	n.at = lineAndColumn(line, column)
	return n
}

// Inside is a node at a place in an object or list that is none of its parts. Its pointer is that
// of n.
func (n *Node) Inside(line, column int) *Node { return (&Node{up: n}).At(line, column) }

// AddAt is [Node.Add] with the place of the name.
func (n *Node) AddAt(key string, line, column int, kid *Node) bool {
	if !n.Add(key, kid) {
		return false
	}
	n.more().at = append(n.more().at, lineAndColumn(line, column))
	return true
}

// AddElement adds an element to a list.
func (n *Node) AddElement(kid *Node) {
	n.Kids = append(n.Kids, kid)
	kid.up = n
}

// Key is a node at the place of the name of the i-th member, or of its value if the
// place of the name is not known.
func (n *Node) Key(i int) *Node {
	if n.names == nil || n.names.at == nil {
		return n.Kids[i]
	}
	return &Node{Kind: '"', Text: n.Keys[i], at: n.names.at[i]}
}
