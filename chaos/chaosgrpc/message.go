package chaosgrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// A Message is a request, a reply or a message of a stream, as faults and triggers see it. It must not be changed. Its
// JSON is that of Protocol Buffers, with the fields that are unset; for another codec it is that of encoding/json.
//
// Where a function of a fault or trigger takes the message's own type, it gets Value: a
// func(*pb.ChargeRequest) bool in when.Args, a func(*pb.ChargeReply) *pb.ChargeReply in fault.Mutate.
type Message struct {
	Value any // a proto.Message, or what another codec takes; nil: the requests of this call come later

	by *execution // of a client, which received it; nil: none did
}

// MarshalJSON writes the message.
func (m *Message) MarshalJSON() ([]byte, error) {
	if pb := protoOf(m.Value); pb != nil {
		return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(pb)
	}
	return json.Marshal(m.Value)
}

// UnmarshalJSON refuses: only a call knows the type of its message.
func (m *Message) UnmarshalJSON([]byte) error {
	return errors.New("chaosgrpc: a message is read from JSON by its call alone")
}

// Unbox returns Value, for functions that take its type.
func (m *Message) Unbox() any { return m.Value }

// Box returns a message of the same type, for faults: v, or what a json.RawMessage has.
func (m *Message) Box(v any) (any, error) {
	boxed, err := box(v, m.Value)
	if err != nil {
		return nil, err
	}
	return &Message{boxed.Value, m.by}, nil
}

// SameAs reports whether two messages have the same content, for package chaos.
func (m *Message) SameAs(other any) (same, known bool) {
	o, ok := other.(*Message)
	if !ok || o == m {
		return ok, true
	}
	if x, y := protoOf(m.Value), protoOf(o.Value); x != nil && y != nil {
		return proto.Equal(x, y), x != y // one that was written to equals itself
	}
	return reflect.DeepEqual(m.Value, o.Value), true
}

// box returns v as a message of the type of like, which is nil if that is not known.
func box(v, like any) (*Message, error) {
	switch m, ok := v.(*Message); {
	case !ok:
	case m == nil:
		v = nil
	case typeOf(m.Value) == typeOf(like):
		return m, nil
	default:
		v = m.Value
	}
	doc, isJSON := v.(json.RawMessage)
	switch {
	case like == nil:
		return nil, errors.New("a message of a type that is not known here")
	case v == nil:
		return &Message{Value: empty(like)}, nil
	case isJSON:
		decoded, err := decode(doc, like)
		return &Message{Value: decoded}, err
	case typeOf(v) == typeOf(like):
		return &Message{Value: v}, nil
	}
	return nil, fmt.Errorf("a message of type %s; allowed: %s", typeOf(v), typeOf(like))
}

func decode(doc json.RawMessage, like any) (any, error) {
	if pb := protoOf(like); pb != nil {
		decoded := empty(like)
		return decoded, protojson.Unmarshal(doc, protoOf(decoded))
	}
	return jsonvalue.DecodeLike(doc, like)
}

func protoOf(v any) proto.Message {
	switch v := v.(type) {
	case proto.Message:
		return v
	case protoadapt.MessageV1:
		return protoadapt.MessageV2Of(v)
	}
	return nil
}

// typeOf names the type of a message: that of its descriptor, or else that of Go.
func typeOf(v any) string {
	if pb := protoOf(v); pb != nil {
		return string(pb.ProtoReflect().Descriptor().FullName())
	}
	return fmt.Sprintf("%T", v)
}

// empty returns a new message of the type of like.
func empty(like any) any {
	if like == nil {
		return nil
	}
	if pb, ok := like.(proto.Message); ok {
		return pb.ProtoReflect().New().Interface()
	}
	t := reflect.TypeOf(like)
	if t.Kind() == reflect.Pointer {
		return reflect.New(t.Elem()).Interface()
	}
	return reflect.Zero(t).Interface()
}

// assign copies a message into another one of its type.
func assign(to, from any) error {
	if typeOf(to) != typeOf(from) {
		return fmt.Errorf("chaosgrpc: a message of type %s was received into a %s", typeOf(from), typeOf(to))
	}
	if dst := protoOf(to); dst != nil {
		proto.Reset(dst)
		proto.Merge(dst, protoOf(from))
		return nil
	}
	if to == nil {
		return nil // the codec took nothing for it
	}
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
	return nil
}

// keyOf is equal for equal requests.
func (p *points) keyOf(request any) uint64 {
	pb, ok := request.(proto.Message)
	if !ok {
		doc, _ := jsonvalue.Encode(request)
		return hash.Bytes(doc)
	}
	buf, ok := p.buffers.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	defer p.buffers.Put(buf)
	*buf, _ = proto.MarshalOptions{Deterministic: true, AllowPartial: true}.MarshalAppend((*buf)[:0], pb)
	return hash.Bytes(*buf)
}

// typesOf are new messages of the types of a method; nil: the program has no descriptor of it.
func typesOf(method string) (request, reply any) {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	d, _ := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, nil
	}
	in, wrongIn := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	out, wrongOut := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	if errors.Join(wrongIn, wrongOut) != nil {
		return nil, nil
	}
	return in.New().Interface(), out.New().Interface()
}
