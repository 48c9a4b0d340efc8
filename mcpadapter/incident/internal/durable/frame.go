package durable

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// header is the length in bytes of what stands before a record's payload: the
// payload's length (uint32, little endian), and the CRC-32C of length and
// payload. A record is never empty: some file systems leave zeros at the end of
// a file after a crash, and they must not be read as records.
const header = 8

// MaxRecord is the size of the largest record, in bytes. It also bounds what a
// damaged length makes a reader do.
const MaxRecord = 4 << 20

func checksum(length, payload []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(length, table), table, payload)
}

// appendFrame appends a header and the payload behind it, of 1 to MaxRecord bytes.
func appendFrame(to, payload []byte) ([]byte, error) {
	if len(payload) == 0 || len(payload) > MaxRecord {
		return nil, fmt.Errorf("journal: a record of %d bytes; allowed: 1 to %d", len(payload), MaxRecord)
	}
	at := len(to)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(payload)))
	to = binary.LittleEndian.AppendUint32(to, checksum(to[at:at+4], payload))
	return append(to, payload...), nil
}

// Decode returns the whole records of a journal, and the number of bytes that are
// none of theirs: torn or damaged ones. Behind damage it searches for the next
// record. The records share the memory of data.
func Decode(data []byte) (records [][]byte, damaged int) {
	for len(data) > 0 {
		payload, ok := frame(data)
		if !ok {
			data = data[1:]
			damaged++
			continue
		}
		records = append(records, payload)
		data = data[header+len(payload):]
	}
	return records, damaged
}

// frame returns the payload of the record with which data begins.
func frame(data []byte) (payload []byte, ok bool) {
	if len(data) < header {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(data)
	if n == 0 || n > MaxRecord || int(n) > len(data)-header {
		return nil, false
	}
	payload = data[header : header+int(n)]
	return payload, binary.LittleEndian.Uint32(data[4:]) == checksum(data[:4], payload)
}
