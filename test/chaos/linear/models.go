package main

import (
	"fmt"
	"hash/fnv"

	"github.com/anishathalye/porcupine"
)

// The objects that a mesh stands on, each as the simplest thing that it may be.
//
//	ledger    a register that is only appended to, by compare-and-set on the sequence of the last entry
//	claim     a register that is written once
//	entry     a register that is changed by compare-and-set on its revision
//	input     a mark that is set once, however often it is sent: what was acked stands, what nobody sent does not
//
// An operation of an unknown outcome may have happened or not, so each model is nondeterministic.

// What a model must know of the whole history of its object: where the bytes of an append that nobody was told of
// were stored, and which bytes a revision is.
type known struct {
	storedAt map[string][]int64
	valueOf  map[int64]string
}

func modelOf(object string, history []porcupine.Operation, refusals bool) (porcupine.NondeterministicModel, error) {
	facts := knownOf(history)
	step := map[string]func(known, bool) func(state, in, out interface{}) []interface{}{
		"ledger": stepLedger, "claim": stepClaim, "entry": stepEntry, "input": stepInput,
	}[object]
	if step == nil {
		return porcupine.NondeterministicModel{}, fmt.Errorf("no model judges %q", object)
	}
	empty := map[string]interface{}{"ledger": ledger{}, "claim": "", "entry": register{bound: true}, "input": false}[object]
	return porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{empty} },
		Step: step(facts, refusals),
	}, nil
}

func knownOf(history []porcupine.Operation) known {
	facts := known{storedAt: map[string][]int64{}, valueOf: map[int64]string{}}
	for _, operation := range history {
		asked, told := operation.Input.(call), operation.Output.(answer)
		for _, one := range asked.Stored {
			facts.storedAt[one.Value] = append(facts.storedAt[one.Value], one.Seq)
		}
		if asked.Do == "read" && told.Outcome == "done" && told.Seq > 0 {
			facts.valueOf[told.Seq] = told.Value
		}
		if asked.Do != "read" && told.Outcome == "done" && told.Seq > 0 {
			facts.valueOf[told.Seq] = asked.Value
		}
	}
	return facts
}

// A ledger as it stands: its last sequence, and a digest of all that is in it, in order.
type ledger struct {
	last   int64
	digest uint64
}

func (one ledger) with(seq int64, value string) ledger {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %d %s", one.digest, seq, value)
	return ledger{last: seq, digest: hash.Sum64()}
}

func stepLedger(facts known, refusals bool) func(state, in, out interface{}) []interface{} {
	return func(state, in, out interface{}) []interface{} {
		now, asked, told := state.(ledger), in.(call), out.(answer)
		fits := asked.Do == "publish" || asked.Expected == now.last // Who publishes from outside expects nothing.
		switch {
		case asked.Do == "read":
			found := ledger{}
			for _, one := range asked.Stored {
				found = found.with(one.Seq, one.Value)
			}
			return only(now, found == now)
		case told.Outcome == "done":
			if !fits || told.Seq <= now.last {
				return nil
			}
			return []interface{}{now.with(told.Seq, asked.Value)}
		case told.Outcome == "refused":
			return only(now, !refusals || !fits)
		default:
			next := []interface{}{now}
			for _, seq := range facts.storedAt[asked.Value] {
				if fits && seq > now.last {
					next = append(next, now.with(seq, asked.Value))
				}
			}
			return next
		}
	}
}

// The state is the holder's nonce.
func stepClaim(known, bool) func(state, in, out interface{}) []interface{} {
	return func(state, in, out interface{}) []interface{} {
		holder, asked, told := state.(string), in.(call), out.(answer)
		isFree := holder == "" || holder == asked.Value
		switch told.Outcome {
		case "done":
			if !isFree {
				return nil
			}
			return []interface{}{asked.Value}
		case "refused":
			return only(state, holder == told.Value && holder != asked.Value)
		default:
			if !isFree || holder == asked.Value {
				return []interface{}{holder}
			}
			return []interface{}{holder, asked.Value}
		}
	}
}

// An entry: its bytes, and its revision where somebody was told of it; otherwise that it is after another one.
type register struct {
	value    string
	revision int64
	bound    bool
}

func (one register) is(revision int64, facts known) bool {
	if one.bound {
		return revision == one.revision
	}
	return revision > one.revision && facts.valueOf[revision] == one.value
}

func stepEntry(facts known, refusals bool) func(state, in, out interface{}) []interface{} {
	return func(state, in, out interface{}) []interface{} {
		now, asked, told := state.(register), in.(call), out.(answer)
		written := func(base int64) register {
			if told.Outcome == "done" && told.Seq > 0 {
				return register{value: asked.Value, revision: told.Seq, bound: true}
			}
			return register{value: asked.Value, revision: base}
		}
		fits := asked.Do == "publish" || now.is(asked.Expected, facts) // Who publishes from outside expects nothing.
		switch {
		case asked.Do == "read" && told.Outcome == "done":
			// A leader that was deposed and does not know answers with what stood there before (see the second look).
			if refusals && !(now.is(told.Seq, facts) && now.value == told.Value) {
				return nil
			}
			return []interface{}{now}
		case asked.Do == "read":
			return []interface{}{now}
		case told.Outcome == "done":
			if !fits || (told.Seq > 0 && told.Seq <= asked.Expected) {
				return nil
			}
			return []interface{}{written(asked.Expected)}
		case told.Outcome == "refused":
			return only(now, !refusals || !now.bound || !fits)
		default:
			if !fits {
				return []interface{}{now}
			}
			return []interface{}{now, written(asked.Expected)}
		}
	}
}

// The state is whether it stands.
func stepInput(known, bool) func(state, in, out interface{}) []interface{} {
	return func(state, in, out interface{}) []interface{} {
		asked, told := in.(call), out.(answer)
		switch {
		case asked.Do == "read":
			return only(state, state.(bool) == (len(asked.Stored) > 0))
		case told.Outcome == "done":
			return []interface{}{true}
		case told.Outcome == "refused":
			return []interface{}{state}
		default:
			return []interface{}{state, true}
		}
	}
}

func only(state interface{}, holds bool) []interface{} {
	if !holds {
		return nil
	}
	return []interface{}{state}
}
