package planjson

import (
	"encoding/json"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/lies"
)

type (
	// where is a parameter of nearly all lies.
	where struct {
		Paths []string `json:"paths,omitempty" doc:"JSON paths of the values that are changed; left out: a place that suits is drawn"`
	}
	kept struct {
		Keep float64 `json:"keep" bounds:"min=0" doc:"share that is kept, below 1"`
		where
	}
	pageSize struct {
		Size int `json:"size" bounds:"min=1" doc:"elements on a page"`
		where
	}
	lost struct {
		Lost float64 `json:"lost" bounds:"over=0,max=1" doc:"share that is lost"`
		where
	}
	within struct {
		Within float64 `json:"within" bounds:"over=0,max=1" doc:"largest change, as a share of the number"`
		where
	}
	power struct {
		Power int `json:"power" bounds:"min=-18,max=18" doc:"of ten, by which the number is multiplied; not 0"`
		where
	}
	days struct {
		Days int `json:"days" bounds:"min=-365250,max=365250" doc:"by which the date is moved; not 0"`
		where
	}
	size struct {
		Bytes int `json:"bytes" bounds:"min=1,max=67108864" doc:"length that the text is brought to"`
		where
	}
	newName struct {
		To string `json:"to,omitempty" doc:"the new name; left out: the old one in another style"`
		where
	}
	envelope struct {
		Name string `json:"name,omitempty" doc:"of the member that holds the value; left out: data"`
		where
	}
	added struct {
		Name  string          `json:"name" doc:"of the member that is added"`
		Value json.RawMessage `json:"value" doc:"its value"`
		where
	}
	errorBody struct {
		Code    int    `json:"code" bounds:"min=400,max=599" doc:"status that the body tells"`
		Message string `json:"message" doc:"its text"`
	}
	lag struct {
		Lag int `json:"lag" bounds:"min=1,max=64" doc:"number of calls that the answer is behind"`
	}
	inText struct {
		Fault chaos.Fault `json:"fault" doc:"a lie about one result"`
		where
	}
	inner struct {
		Fault chaos.Fault `json:"fault" doc:"a fault that changes results"`
	}
)

// lying is a row of a lie whose only parameters are paths.
func lying(name, code, doc string, build func(...string) chaos.Fault) *catalog.Row {
	return faultRow(name, "lies."+code+"(paths...)", doc, `{}`, func(p where) chaos.Fault { return build(p.Paths...) })
}

// lieKinds are faults on values: omissions, formats and wrong values.
func lieKinds() []*catalog.Row {
	kinds := []*catalog.Row{
		lying("empty_result", "Empty", "A value is empty.", lies.Empty),
		lying("null_value", "Null", "A value is null.", lies.Null),
		lying("missing_field", "Missing", "A member of an object is missing.", lies.Missing),
		faultRow("cut_text", "lies.CutText(keep, paths...)", "A text is cut.", `{"keep":0.5}`,
			func(p kept) chaos.Fault { return lies.CutText(p.Keep, p.Paths...) }),
		faultRow("cut_list", "lies.CutList(keep, paths...)", "A list is cut.", `{"keep":0.5}`,
			func(p kept) chaos.Fault { return lies.CutList(p.Keep, p.Paths...) }),
		faultRow("missing_page", "lies.MissingPage(size, paths...)", "A page of a list is missing.", `{"size":2}`,
			func(p pageSize) chaos.Fault { return lies.MissingPage(p.Size, p.Paths...) }),
		faultRow("partial_batch", "lies.PartialBatch(lost, paths...)", "Some elements of a list are missing.", `{"lost":0.3}`,
			func(p lost) chaos.Fault { return lies.PartialBatch(p.Lost, p.Paths...) }),
		faultRow("malformed_result", "lies.Malformed()", "The result is no longer JSON.", `{}`,
			func(none) chaos.Fault { return lies.Malformed() }),
		faultRow("html_result", "lies.HTMLPage()", "The result is the error page of a proxy.", `{}`,
			func(none) chaos.Fault { return lies.HTMLPage() }),
		faultRow("error_result", "lies.ErrorBody(code, message)", "The call succeeds with an error as its result.",
			`{"code":503,"message":"Service Unavailable"}`, func(p errorBody) chaos.Fault { return lies.ErrorBody(p.Code, p.Message) }),
		lying("mojibake", "Mojibake", "A text was read in the wrong encoding.", lies.Mojibake),
		lying("invalid_utf8", "InvalidUTF8", "A text has a byte that is not UTF-8.", lies.InvalidUTF8),
		faultRow("oversized_result", "lies.Oversized(bytes, paths...)", "A text is very long.", `{"bytes":4096}`,
			func(p size) chaos.Fault { return lies.Oversized(p.Bytes, p.Paths...) }),
		faultRow("wrong_number", "lies.WrongNumber(within, paths...)", "A number is plausible and wrong.", `{"within":0.1}`,
			func(p within) chaos.Fault { return lies.WrongNumber(p.Within, p.Paths...) }),
		faultRow("scaled_number", "lies.Scale(power, paths...)", "A number is wrong by a power of ten.", `{"power":-2}`,
			func(p power) chaos.Fault { return lies.Scale(p.Power, p.Paths...) }),
		lying("flipped_sign", "FlipSign", "A number has the other sign.", lies.FlipSign),
		lying("swapped_digits", "SwapDigits", "Two digits of a number have changed places.", lies.SwapDigits),
		lying("off_by_one", "OffByOne", "A number is one more or less.", lies.OffByOne),
		lying("number_overflow", "Overflow", "A number is larger than its type holds.", lies.Overflow),
		lying("not_a_number", "NotANumber", "A number is NaN, which JSON does not have.", lies.NotANumber),
		faultRow("shifted_date", "lies.ShiftDate(days, paths...)", "A date is moved by some days.", `{"days":1}`,
			func(p days) chaos.Fault { return lies.ShiftDate(p.Days, p.Paths...) }),
		lying("swapped_unit", "SwapUnit", "A unit or currency is replaced by another one.", lies.SwapUnit),
		lying("flipped_type", "FlipType", "A number becomes a text, or a text a number.", lies.FlipType),
		lying("swapped_fields", "SwapFields", "Two values have changed places.", lies.SwapFields),
		lying("swapped_entity", "SwapEntity", "A record of a list has the identifier of another one.", lies.SwapEntity),
		lying("fabricated_record", "FabricateRecord", "A list has a record that does not exist.", lies.FabricateRecord),
		lying("dangling_reference", "DanglingReference", "An identifier refers to nothing.", lies.DanglingReference),
		lying("duplicated_rows", "DuplicateRows", "A list has an element twice.", lies.DuplicateRows),
		lying("reordered_rows", "ReorderRows", "A list is in another order.", lies.ReorderRows),
	}
	return append(kinds, pastKinds()...)
}

// pastKinds are lies about time, across targets, and about schemas.
func pastKinds() []*catalog.Row {
	return []*catalog.Row{
		faultRow("stale_result", "lies.Stale(lag)", "The answer is that of an earlier, equal call.", `{"lag":1}`,
			func(p lag) chaos.Fault { return lies.Stale(p.Lag) }),
		faultRow("frozen_result", "lies.Frozen()", "The first answer is repeated for good.", `{}`,
			func(none) chaos.Fault { return lies.Frozen() }),
		faultRow("crossed_result", "lies.Crossed()", "The answer belongs to another request.", `{}`,
			func(none) chaos.Fault { return lies.Crossed() }),
		faultRow("replayed_result", "lies.Replayed()", "The answer is an old one of the same target.", `{}`,
			func(none) chaos.Fault { return lies.Replayed() }),
		faultRow("contradiction", "lies.Contradict()", "Two targets contradict each other.", `{}`,
			func(none) chaos.Fault { return lies.Contradict() }),
		faultRow("renamed_key", "lies.RenameKey(to, paths...)", "A member has another name.", `{}`,
			func(p newName) chaos.Fault { return lies.RenameKey(p.To, p.Paths...) }),
		lying("removed_key", "RemoveKey", "A member is gone from all objects.", lies.RemoveKey),
		faultRow("added_key", "lies.AddKey(name, value, paths...)", "An object has an unknown member.", `{"name":"legacy","value":true}`,
			func(p added) chaos.Fault { return lies.AddKey(p.Name, p.Value, p.Paths...) }),
		lying("retyped_key", "Retype", "A member has another type.", lies.Retype),
		faultRow("enveloped", "lies.Envelope(name, paths...)", "A value is wrapped in an object.", `{}`,
			func(p envelope) chaos.Fault { return lies.Envelope(p.Name, p.Paths...) }),
		faultRow("schema_drift", "lies.SchemaDrift()", "The result has the schema of a second version.", `{}`,
			func(none) chaos.Fault { return lies.SchemaDrift() }),
		lying("unknown_enum", "UnknownEnum", "A word from a small set is replaced by an unknown one.", lies.UnknownEnum),
		faultRow("lie_in_text", "lies.InText(f, paths...)", "A document within a text is changed by another lie.",
			`{"fault":{"kind":"wrong_number","params":{"within":0.1}}}`, func(p inText) chaos.Fault { return lies.InText(p.Fault, p.Paths...) }),
		faultRow("changed_call", "lies.Arguments(f)", "The arguments of the call are changed by a fault that changes results.",
			`{"fault":{"kind":"wrong_number","params":{"within":0.1}}}`, func(p inner) chaos.Fault { return lies.Arguments(p.Fault) }),
	}
}
