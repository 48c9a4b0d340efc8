package durable

import (
	"encoding/binary"
	"hash/crc32"
)

// A record in a journal is its length (uint32, little endian), the CRC-32C of
// length and payload, and the payload. A record is never empty, so that a tail
// of zeros, as some file systems leave it after a crash, is no record.
const header = 8

// MaxRecord bounds a record, and what a damaged length can make a reader do.
const MaxRecord = 4 << 20

func checksum(length, payload []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(length, table), table, payload)
}

// appendFrame appends a record in its frame.
func appendFrame(to, payload []byte) []byte {
	at := len(to)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(payload)))
	to = binary.LittleEndian.AppendUint32(to, checksum(to[at:at+4], payload))
	return append(to, payload...)
}

// Decode returns the records of a journal up to the first that is torn or
// damaged, and how many bytes they take. The records share the bytes of data.
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
