package replay

import "github.com/shakedown-go/shakedown/contract"

// SaveCell makes the file of a cell's session: its name, which is that of the session, and its text
// without the secrets. It is for Options.SaveFailures of package contracttest. There is no file if
// no session can be made of the cell; an error beside one says what the session lacks.
func SaveCell(m *contract.Matrix, c *contract.CellReport, secrets []string) (name string, file []byte, err error) {
	session, lacks := FromCell(m, c)
	if session == nil {
		return "", nil, lacks
	}
	session, err = session.Redact(secrets...)
	if err == nil {
		file, err = session.Encode()
	}
	if err != nil {
		return "", nil, err
	}
	return session.Name, file, lacks
}
