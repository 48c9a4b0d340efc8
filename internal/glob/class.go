package glob

// class reads a class, starting after the bracket at start.
func (p *parser) class(start int) (node, error) {
	n := node{kind: inClass}
	if p.at('^') || p.at('!') {
		n.kind = notInClass
		p.pos++
	}
	for p.pos < len(p.pattern) && !p.at(']') {
		s, err := p.span()
		if err != nil {
			return node{}, err
		}
		n.class = append(n.class, s)
	}
	switch {
	case p.pos == len(p.pattern):
		return node{}, p.fail(start, reasonClass)
	case len(n.class) == 0:
		return node{}, p.fail(start, reasonEmptyClass)
	}
	p.pos++
	return n, nil
}

// span reads one member of a class, or a range of them. A hyphen before the bracket that closes the class is a member.
func (p *parser) span() (span, error) {
	start := p.pos
	low, err := p.member()
	if err != nil {
		return span{}, err
	}
	if !p.at('-') || p.pos+1 == len(p.pattern) || p.pattern[p.pos+1] == ']' {
		return span{low, low}, nil
	}
	p.pos++
	high, err := p.member()
	if err == nil && high < low {
		err = p.fail(start, reasonRange)
	}
	return span{low, high}, err
}

func (p *parser) member() (rune, error) {
	if r := p.next(); r != '\\' {
		return r, nil
	}
	return p.escaped()
}

func (n *node) takes(r rune) bool {
	switch n.kind {
	case char:
		return r == n.char
	case inClass:
		return within(n.class, r)
	case notInClass:
		return !within(n.class, r)
	}
	return true
}

func within(class []span, r rune) bool {
	for _, s := range class {
		if s.low <= r && r <= s.high {
			return true
		}
	}
	return false
}
