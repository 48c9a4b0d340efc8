// Package prose reads what an agent says in English, German, French and Spanish: the claims
// that an answer makes ([ClaimReader]), and whether its facts occur in what the agent was
// told ([GroundReader]). The invariants over answers and the findings in traces read by it,
// so that both judge an answer alike.
//
// It recognises and does not understand: what it does not recognise is [Unruled]. It knows
// neither cells nor events; its callers give it texts and the results of tools. All languages
// are searched at once, in texts whose spelling is folded ([Flat]).
package prose
