package durable

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// appendLine appends a record as a line: its CRC-32C, a space, and the record, which is JSON
// and has no line break. A line break comes before it too, so that a damaged one costs a
// single record.
func appendLine(to, record []byte) []byte {
	return fmt.Appendf(to, "\n%s %s\n", checksum(record), record)
}

func checksum(record []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(record, crc32.MakeTable(crc32.Castagnoli)))
}

// Decode returns the whole records of a journal, and the number of bytes in lines that are
// torn or damaged. The records share the memory of data.
func Decode(data []byte) (records [][]byte, damaged int) {
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		sum, record, _ := bytes.Cut(line, []byte(" "))
		if len(record) > 0 && string(sum) == checksum(record) {
			records = append(records, record)
		} else {
			damaged += len(line)
		}
	}
	return records, damaged
}
