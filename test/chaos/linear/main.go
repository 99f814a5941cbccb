// Whether the histories of a chaos run are linearizable, as porcupine sees it.
//
//	linear FILE…    histories, as record.ts writes them; prints one line of JSON: the verdict
//
// Each object is judged by itself. It is looked at twice: what was acked, and then also what was refused or read. A
// leader that was deposed and does not know it yet refuses and answers by what it has, and nobody acts on that; so what
// fails the second look alone is told apart.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// An object whose history is not decided by then is told as undecided.
const perObject = 20 * time.Second

type verdict struct {
	Objects    int            `json:"objects"`
	Operations map[string]int `json:"operations"`
	// Calls that nobody was told the end of.
	Unknown int `json:"unknown"`
	// Not linearizable; with the calls and answers.
	Broken []finding `json:"broken"`
	// Linearizable only without refusals and reads.
	Late []string `json:"late"`
	// Not decided in time.
	Undecided []string `json:"undecided"`
	Ms        int64    `json:"ms"`
}

type finding struct {
	Object  string   `json:"object"`
	History []string `json:"history"`
}

func main() {
	begun := time.Now()
	histories, err := readHistory(os.Args[1:])
	if err != nil {
		fail(err)
	}
	result := verdict{Objects: len(histories), Operations: map[string]int{}, Broken: []finding{}, Late: []string{}, Undecided: []string{}}
	names := []string{}
	for name := range histories {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := judge(name, histories[name], &result); err != nil {
			fail(err)
		}
	}
	result.Ms = time.Since(begun).Milliseconds()
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err)
	}
}

func judge(name string, history []porcupine.Operation, result *verdict) error {
	object := strings.SplitN(name, " ", 2)[0]
	for _, operation := range history {
		result.Operations[object]++
		if operation.Output.(answer).Outcome == "unknown" {
			result.Unknown++
		}
	}
	for _, refusals := range []bool{true, false} {
		model, err := modelOf(object, history, refusals)
		if err != nil {
			return err
		}
		switch porcupine.CheckOperationsTimeout(model.ToModel(), history, perObject) {
		case porcupine.Ok:
			if !refusals {
				result.Late = append(result.Late, name)
			}
			return nil
		case porcupine.Unknown:
			result.Undecided = append(result.Undecided, name)
			return nil
		}
	}
	result.Broken = append(result.Broken, finding{Object: name, History: tell(history)})
	return nil
}

func tell(history []porcupine.Operation) []string {
	sort.SliceStable(history, func(a, b int) bool { return history[a].Call < history[b].Call })
	lines := []string{}
	for _, operation := range history {
		asked, told := operation.Input.(call), operation.Output.(answer)
		until := fmt.Sprint(operation.Return)
		if told.Outcome == "unknown" {
			until = "?"
		}
		lines = append(lines, fmt.Sprintf("%d..%s %s %.12s after %d: %s %d %.12s", operation.Call, until, asked.Do, asked.Value, asked.Expected, told.Outcome, told.Seq, told.Value))
	}
	return lines
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
