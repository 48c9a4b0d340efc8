package durable

import (
	"encoding/binary"
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

// appendFrame appends a header and the payload behind it.
func appendFrame(to, payload []byte) []byte {
	at := len(to)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(payload)))
	to = binary.LittleEndian.AppendUint32(to, checksum(to[at:at+4], payload))
	return append(to, payload...)
}

// Decode returns the records of a journal up to the first torn or damaged one,
// and the number of bytes that they take. The records share the memory of data.
func Decode(data []byte) (records [][]byte, valid int) {
	for {
		rest := data[valid:]
		if len(rest) < header {
			return records, valid
		}
		n := binary.LittleEndian.Uint32(rest)
		if n == 0 || n > MaxRecord || int(n) > len(rest)-header {
			return records, valid
		}
		payload := rest[header : header+int(n)]
		if binary.LittleEndian.Uint32(rest[4:]) != checksum(rest[:4], payload) {
			return records, valid
		}
		records = append(records, payload)
		valid += header + int(n)
	}
}
