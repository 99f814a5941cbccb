package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"

	"github.com/anishathalye/porcupine"
)

// A line of a history, as record.ts writes it: a call, or the answer to one.
type line struct {
	ID string `json:"id"`
	// Microseconds of a clock that all processes of the machine share.
	At     int64   `json:"at"`
	Call   *call   `json:"call"`
	Answer *answer `json:"answer"`
}

type call struct {
	// Which model judges it, and which object it is about. Objects do not touch one another.
	Object string `json:"object"`
	Key    string `json:"key"`
	// What is done to the object.
	Do       string  `json:"do"`
	Value    string  `json:"value"`
	Expected int64   `json:"expected"`
	Stored   []entry `json:"stored"`
}

// An entry as a reader found it.
type entry struct {
	Seq   int64  `json:"seq"`
	Value string `json:"value"`
}

type answer struct {
	// "done", "refused", "nothing" (it did not happen, which says nothing of the object), or "unknown": it may or may
	// not have happened, then or later.
	Outcome string `json:"outcome"`
	Seq     int64  `json:"seq"`
	// What was found instead, or read.
	Value string `json:"value"`
}

// Reads the files, joins calls with their answers, and groups them by object. A call without an answer is one whose
// process died: its outcome is unknown, and it has no end.
func readHistory(paths []string) (map[string][]porcupine.Operation, error) {
	calls := map[string]line{}
	answers := map[string]line{}
	order := []string{}
	for _, path := range paths {
		err := readLines(path, func(one line) {
			if one.Call != nil {
				calls[one.ID] = one
				order = append(order, one.ID)
			} else if one.Answer != nil {
				answers[one.ID] = one
			}
		})
		if err != nil {
			return nil, err
		}
	}
	byKey := map[string][]porcupine.Operation{}
	clients := map[string]int{}
	for _, id := range order {
		begun := calls[id]
		operation := porcupine.Operation{Input: *begun.Call, Call: begun.At, Return: math.MaxInt64, Output: answer{Outcome: "unknown"}}
		told, found := answers[id]
		if found && told.Answer.Outcome == "nothing" {
			continue
		}
		if found && told.Answer.Outcome != "unknown" {
			operation.Output = *told.Answer
			operation.Return = told.At
		}
		name := begun.Call.Object + " " + begun.Call.Key
		operation.ClientId = clients[name] // One client an operation: who overlaps whom is told by the times alone.
		clients[name]++
		byKey[name] = append(byKey[name], operation)
	}
	return byKey, nil
}

func readLines(path string, take func(line)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 1<<20), 1<<28)
	broken := false
	for number := 1; scanner.Scan(); number++ {
		var one line
		if broken {
			return fmt.Errorf("%s: line %d is no JSON, and not the last", path, number-1)
		}
		// The last one may be half written by a process that was killed.
		broken = json.Unmarshal(scanner.Bytes(), &one) != nil
		if !broken {
			take(one)
		}
	}
	return scanner.Err()
}
