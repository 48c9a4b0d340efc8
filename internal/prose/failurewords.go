package prose

// statusWord is a status that servers answer with; 450 and 600 are amounts.
const statusWord = `(?:4[0-3][0-9]|44[049]|451|49[4-9]|50[0-9]|51[01]|52[0-9]|530)`

// FailureWords report an outage, an error or something not found.
const FailureWords = `empty|blank|denied|token|nothing (?:came|was)|came back|returned|stopped|` +
	`refused (?:the|my|to)|verweigert|abgelehnt\w*|leere?n?|abgebrochen|a refuse|a renvoye|vide|rechazo|` +
	`devolvio|vaci[oa]|denegad[oa]|` +
	`unavailable|timed? ?out|time-?outs?|fail(?:s|ed|ing|ure|ures)?|errors?|outages?|(?:is|` +
	`are|was|were|been|went|be) (?:\w+ )?down|right now|just now|` +
	`at (?:the|this) (?:moment|time)|currently|temporar\w+|try(?:ing)? (?:\w+ )?(?:again|later)|again later|` +
	`later on|in a few (?:minutes|moments)|not respond\w*|\w+n't respond\w*|unresponsive|unreachable|` +
	`maintenance|technical|overload\w*|hiccups?|glitch\w*|trouble|issues?|problems?|not found|no (?:record|` +
	`results?|data|answer|response|reply|match\w*)|couldn't|could not|\w+n't able to|were not able to|` +
	`was not able to|` +
	`unable to (?:find|retrieve|access|reach|look|pull|load|connect|complete|locate|verify|check|get|fetch|` +
	`process|confirm|determine)|(?:can't|cannot|can not) (?:find|reach|access|retrieve|locate|connect|` +
	`look|pull|check|verify|see|seem|confirm|determine|promise|guarantee)|` +
	`(?:errors?|fehler|erreur|error|http|status|code) (?:code )?` + statusWord + `|\(` + statusWord + `\)|` +
	`rate.?limit\w*|connection|connect|offline|interrupt\w*|malfunction\w*|crash\w*|incomplete|` +
	`(?:don't|do not|didn't|does not|doesn't) (?:\w+ )?(?:have|see|find|know|return\w*|load|exist)|` +
	`back (?:up|online)|came back (?:empty|blank)|slow|` +
	`nicht (?:\w+ )?(?:erreichbar|verfuegbar|gefunden|abruf\w*|auffind\w*|geladen|gelungen|bekannt)|` +
	`zeitueberschreitung\w*|(?:fehl|schief)\w*schlag\w*|fehlschlug|fehler\w*|gescheitert|scheitert\w*|` +
	`\w*ausfa(?:ll|lls|elle)|ausgefallen|\w*stoerung\w*|` +
	`gerade|derzeit|momentan|im moment|zurzeit|zur zeit|voruebergehend|aktuell|spaeter|noch (?:ein)?mal|erneut|` +
	`antwortet\w*|reagiert\w*|geantwortet|\w*wartung\w*|techni\w+|ueberlastet|konnten?|nicht vor|` +
	`verbindung\w*|problem\w*|kein(?:e|en)? (?:datensatz|daten|antwort|ergebnis\w*|treffer|eintrag|` +
	`kunden?|bestellung)|unterbrochen|abgestuerzt|abgelaufen|` +
	`indisponible\w*|injoignable|ne repond\w*|pas repond\w*|delai\w*|expire\w*|echou\w*|echec|erreurs?|pannes?|` +
	`incidents?|pour (?:le moment|l'instant)|actuellement|en ce moment|momentane\w*|temporaire\w*|` +
	`reessay\w*|retent\w*|plus tard|a nouveau|` +
	`techniques?|surcharg\w*|(?:n'ai|n'a|n'avons) (?:\w+ )?pas (?:\w+ )?(?:pu|reussi|trouve)|(?:ne|` +
	`n'arrive) (?:\w+ )?(?:parviens|trouve|arrive)\w*|introuvable|aucune? (?:donnee|resultat|reponse|` +
	`commande|client|fiche)|connexion|hors (?:service|ligne)|dysfonction\w*|souci|problemes?|` +
	`interromp\w*|` +
	`no (?:esta|estan|estaba|se encuentra) (?:\w+ )?disponibles?|no disponibles?|no respond\w*|` +
	`tiempo de espera|fall(?:o|os|ado|aron|ando|a|an)|caid[oa]s?|caida|averia|incidencias?|` +
	`en este momento|en estos momentos|ahora mismo|actualmente|(?:por el|de) momento|temporal\w*|` +
	`intent(?:alo|elo|ar|arlo|a|e|ado|o)|mas tarde|de nuevo|otra vez|tecnic[oa]s?|mantenimiento|saturad[oa]|` +
	`sobrecarg\w*|no (?:he|hemos|ha|se ha) podido|no (?:pude|pudo|pudimos|se pudo|ha sido posible|` +
	`fue posible|encuentr\w+|encontr\w+|localiz\w+|he encontrado|consigo|logr\w+)|sin respuesta|conexion|` +
	`inaccesible|interrumpid\w+`
