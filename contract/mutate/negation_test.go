package mutate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/mutate"
)

// prompts are texts of four languages in which a negation decides, or one letter makes one.
var prompts = map[string][]string{
	"en": {
		"Refund order 1042 now, but do not cancel the other one.", "Don't send the report before the review is done.",
		"Turn on the alarm and note the time.", "Never delete a backup without asking me first.", "Do nothing until the customer has answered.",
		"Please put the note on my desk now, or nobody will see it.", "He can’t come, so move the call on to next week.",
		"Do neither: keep the booking and tell no one.", "You cannot refund it; show none of the prices now.",
	},
	"de": {
		"Bitte storniere die Bestellung nicht, sondern nur die Rechnung.", "Schick keine Mail an den Kunden, ohne mich zu fragen.",
		"Lösche nie die Daten, die sie uns gab.", "Das ist ein Fehler, also antworte niemandem.", "Weder heute noch morgen, sondern nächste Woche.",
		"Nein, erstatte nichts, bis die Ware da ist.", "Nimm einen Termin, der mir nicht zu früh ist.",
	},
	"es": {
		"No canceles el pedido, solo cambia la fecha.", "Nunca envíes el informe sin mi permiso.", "No pagues nada hasta que te lo diga.",
		"Su amigo no es ninguno de los dos, ni tampoco el jefe.", "Borra la nota si ya la vio el cliente.", "Jamás compartas los datos con nadie.",
	},
	"fr": {
		"N'annulez pas la commande, changez seulement la date.", "Ne supprime jamais le dossier sans me demander.", "Il n’y a plus de place, ne paie rien.",
		"Le client me dit que son nom est faux, corrige le.", "Aucun remboursement avant lundi, sauf pour lui.", "Note le nom et la date sur mon agenda.",
	},
}

// negating are the words of the prompts that negate, by hand and not from the package.
var negating = strings.Fields(`not don't never without nothing nobody can't neither no cannot none
	nicht keine ohne nie niemandem weder noch nein nichts kein
	nunca sin nada ninguno ni tampoco jamás nadie n'annulez pas ne jamais sans n'y plus rien aucun sauf non`)

// negationsIn lists the words of a text that negate, in order.
func negationsIn(text string) (found []string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" .,:;?\n\t-", r) }) {
		if word = strings.ReplaceAll(word, "’", "'"); slices.Contains(negating, word) {
			found = append(found, word)
		}
	}
	return found
}

// Noise keeps what a prompt asks for: the words that negate stay as they are, and no other
// word becomes one, as "now" would become "no".
func TestNoiseNeitherMakesNorDisfiguresANegation(t *testing.T) {
	kinds := []string{"typo", "fullwidth", "zero_width", "homoglyph"}
	for language, texts := range prompts {
		for _, strength := range []float64{0, 1} {
			set, err := mutate.New(&mutate.Options{Kinds: kinds, Variants: 40, Strength: strength})
			require.NoError(t, err)
			scenarios, _, err := set.Scenarios(context.Background(), texts)
			require.NoError(t, err)
			for _, s := range scenarios {
				for _, text := range texts {
					got := s.Rewrite(text)
					assert.Equal(t, negationsIn(text), negationsIn(got), fmt.Sprintf("%s, %s: %q became %q", language, s.Name, text, got))
				}
			}
		}
	}
}
