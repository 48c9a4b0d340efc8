package mutate

import "strings"

// Language mixing: the prompt within other languages, and letters of other scripts.

func languageRows() []row {
	return grouped("language_mixing", Same,
		row{Kind{Name: "other_language", Weight: 1.2, Text: "between sentences in two other languages"}, framed(
			frame{"Hola, ¿podría ayudarme con lo siguiente? ", " Vielen Dank im Voraus!"},
			frame{"Guten Tag, ich habe eine Bitte: ", " Merci beaucoup et bonne journée."},
			frame{"Bonjour, voici ma demande : ", " よろしくお願いします。"},
			frame{"你好，请帮我处理这件事： ", " Grazie mille!"})},
		row{Kind{Name: "homoglyph", Weight: 1.4, Strength: .3, Once: true,
			Text: "in some words, letters of Latin and Cyrillic that look alike are exchanged"},
			disfigured(lookalikes.Replace)},
	)
}

// lookalikes exchanges letters that look alike, in both directions. Applied twice it
// gives the text back.
var lookalikes = strings.NewReplacer(
	"a", "а", "c", "с", "e", "е", "i", "і", "o", "о", "p", "р", "s", "ѕ", "x", "х", "y", "у",
	"A", "А", "B", "В", "C", "С", "E", "Е", "H", "Н", "K", "К", "M", "М", "O", "О", "P", "Р", "T", "Т", "X", "Х",
	"а", "a", "с", "c", "е", "e", "і", "i", "о", "o", "р", "p", "ѕ", "s", "х", "x", "у", "y",
	"А", "A", "В", "B", "С", "C", "Е", "E", "Н", "H", "К", "K", "М", "M", "О", "O", "Р", "P", "Т", "T", "Х", "X",
)
