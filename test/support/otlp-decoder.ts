/**
 * The OpenTelemetry Collector's own reader of requests (its module `pdata`), as a small program: it takes a request of `traces` or
 * `metrics` on stdin and prints what was read, or the reason why it cannot be.
 */
import { ensureGoProgram, type GoProgram } from "./go-program.ts";

const pdata = "go.opentelemetry.io/collector/pdata";

const program = `package main

import (
	"fmt"
	"io"
	"os"

	"${pdata}/pmetric"
	"${pdata}/pmetric/pmetricotlp"
	"${pdata}/ptrace"
	"${pdata}/ptrace/ptraceotlp"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Each goes through the wire's own form, which holds nothing that the protocol does not define.
func traces(body []byte) []byte {
	request := ptraceotlp.NewExportRequest()
	check(request.UnmarshalJSON(body))
	bytes, err := request.MarshalProto()
	check(err)
	again := ptraceotlp.NewExportRequest()
	check(again.UnmarshalProto(bytes))
	read, err := (&ptrace.JSONMarshaler{}).MarshalTraces(again.Traces())
	check(err)
	return read
}

func metrics(body []byte) []byte {
	request := pmetricotlp.NewExportRequest()
	check(request.UnmarshalJSON(body))
	bytes, err := request.MarshalProto()
	check(err)
	again := pmetricotlp.NewExportRequest()
	check(again.UnmarshalProto(bytes))
	read, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(again.Metrics())
	check(err)
	return read
}

func main() {
	body, err := io.ReadAll(os.Stdin)
	check(err)
	if os.Args[1] == "metrics" {
		os.Stdout.Write(metrics(body))
	} else {
		os.Stdout.Write(traces(body))
	}
}
`;

/** Finds the program or builds it, which takes about half a minute, once. */
export const ensureOtlpDecoder = (): Promise<GoProgram> =>
  ensureGoProgram({
    name: "otlp-decoder",
    files: { "main.go": program },
    packages: [`${pdata}@v1.71.0`],
  });
