/**
 * The kind of sagas whose machine their author writes: any XState machine, which hears everything as XState names it.
 */
import { assert } from "../../protocol/errors.ts";
import { toJson } from "../../protocol/json.ts";
import { membersOf, statusIn, textIn } from "../contract/built-in.ts";
import type { Definition, Kind } from "../contract/definition.ts";
import type { Ending } from "../contract/state.ts";
import type { MachineStatus } from "../machine/machine.ts";
import { plainCalls } from "../request/plain.ts";
import { readWith } from "../values/schema.ts";

/** The kind's record. */
export const sagaKind: Kind<undefined> = {
  name: "saga",
  takes: [],
  calls: "none",
  hears: "read",
  decision: undefined,
  redoes: false,
  tellsIgnored: true,
  machineInput: (_given, read) => read,
  signalEvent: ({ signals }, { name, data, at, from }, { follows }) => {
    const schema = Object.hasOwn(signals, name) ? signals[name] : undefined;
    const read = schema === undefined ? undefined : readWith(schema, data);
    assert(read?.success === true, `the signal "${name}" fits its schema; the door refuses what does not`);
    const members = follows === undefined ? {} : onEvent(read.data);
    return { ...members, type: name, data: read.data, at, from };
  },
  cancelEvent: () => undefined,
  ending: endingOf,
  ...plainCalls,
};

/** What of a signal's data stands on its event. */
const onEvent = (data: unknown): object =>
  typeof data === "object" && data !== null && !Array.isArray(data) ? data : {};

function endingOf(definition: Definition, { tags, output, value }: MachineStatus): Ending {
  const status = statusIn(tags);
  const said = toJson(output);
  if (status !== "completed") {
    const members = membersOf(said);
    const code = textIn(members, "code") ?? "";
    return {
      status,
      output: said,
      reason: textIn(members, "because") ?? textIn(members, "reason") ?? `ended in ${JSON.stringify(value)}`,
      ...(code === "" ? {} : { code }), // As of an agent or a workflow.
    };
  }
  // What is recorded must fit, for the parent and the client read no more than that; null stands for nothing.
  const read = readWith(definition.output, said);
  const saysNothing = output === undefined && readWith(definition.output, undefined).success;
  if (read.success || saysNothing) return { status, output: said };
  return {
    status: "failed",
    code: "BAD_RESULT",
    reason: `the machine's output does not fit: ${read.reason}`,
  };
}
