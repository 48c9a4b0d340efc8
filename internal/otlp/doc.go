// Package otlp reads OpenTelemetry spans in the JSON encoding of the OpenTelemetry
// protocol, and says what kind of node a span is. The timeline and the import of
// sessions both use it.
//
//	r := otlp.Reader{Fields: fields, Wrong: wrong, MaxSpans: 1000}
//	r.Read(text, func(at *otlp.Place, s *otlp.Span) {
//		name, kind := s.Node() // "refund", otlp.Tool
//	})
package otlp
