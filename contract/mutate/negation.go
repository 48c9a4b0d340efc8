package mutate

import "strings"

// negations are words that make the opposite of a sentence, in English, German, Spanish and
// French, in lower case and without apostrophes. Some mean it only in a pair, such as plus
// in "ne … plus", and some are misspelt as people do.
const negations = " " +
	"no not nor never none nothing nobody neither nowhere without cannot unless except aint arent " +
	"cant couldnt didnt doesnt dont hadnt hasnt havent isnt mustnt neednt shant shouldnt wasnt " +
	"werent wont wouldnt nein nicht nichts nie niemals niemand niemanden niemandem nirgends " +
	"nirgendwo weder noch ohne außer ausser kein keine keinen keinem keiner keines keinerlei " +
	"keinesfalls keineswegs ni nunca jamás jamas nada nadie ningún ningun ninguno ninguna ningunos " +
	"ningunas sin tampoco salvo excepto non ne pas jamais rien aucun aucune aucuns aucunes personne " +
	"nul nulle guère guere point plus sans sauf "

// negates reports whether a word negates.
func negates(word string) bool {
	word = strings.ToLower(strings.ReplaceAll(word, "’", "'"))
	if strings.HasPrefix(word, "n'") || strings.HasSuffix(word, "n't") { // n'est, don't
		return true
	}
	return strings.Contains(negations, " "+strings.ReplaceAll(word, "'", "")+" ")
}
