/**
 * Reply: what a model's reply comes to. Pure; the agent machine acts on what is returned here.
 *
 * AR1 Every call of a reply becomes a call or is answered with why not; one that is refused stops no other.
 * AR2 What is read of a call is read whole: a member that no schema knows refuses the call instead of being dropped.
 * AR3 Text ends a saga only where the output is a text; otherwise it costs a repair.
 * AR4 A reply with more calls than one may make is taken as one that made none, and its model is told how many it may.
 */
import { z } from "zod";
import { describeError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Call, ModelMessage, ModelReply, MessagePart } from "../../protocol/model.ts";
import { didYouMean } from "../../protocol/nearest.ts";
import { faultOfSend, readHandOff } from "../request/between-sagas.ts";
import type { AgentSpec } from "../request/agent-spec.ts";
import { askedSchema, reservedCalls, reservedNames } from "../request/conversation.ts";
import { readWhole } from "../values/whole.ts";

/** A call that is to be started: an actor of the machine, or a wait. */
export type StartedCall =
  | {
      readonly type: "actor";
      readonly call: string;
      readonly tool: string;
      readonly src: string;
      readonly input: Json;
    }
  | {
      readonly type: "wait";
      readonly call: string;
      readonly signals: readonly string[] | undefined;
      readonly forMs: number | undefined;
    };

export interface Reading {
  /** What the conversation keeps of the reply. */
  readonly message: ModelMessage;
  readonly started: readonly StartedCall[];
  /** Answers that are known at once: refused calls, and the words of a repair. */
  readonly answers: readonly MessagePart[];
  /** The reply could not be taken as it was; counts against the repairs in a row. */
  readonly repair: boolean;
  readonly finish?: { readonly output: Json };
  /** The call by which another agent takes the work over. */
  readonly handsOff?: string;
  readonly fail?: { readonly code: string; readonly reason: string };
}

/** The reading with only the calls of its that are taken; each of the others is answered with why not. */
export function onlyTaken(
  reading: Reading,
  isTaken: (call: StartedCall) => boolean,
  why: { readonly code: string; readonly reason: string },
): Reading {
  const refused = reading.started.filter((call) => !isTaken(call));
  if (refused.length === 0) return reading;
  const { handsOff: _handsOff, ...rest } = reading; // Alone in its reply, so it is among the refused.
  const answers = refused.map((call): MessagePart => ({
    type: "result",
    call: call.call,
    tool: call.type === "wait" ? "wait" : call.tool,
    outcome: "denied",
    ...why,
  }));
  return { ...rest, started: reading.started.filter(isTaken), answers: [...reading.answers, ...answers] };
}

/** Reads one reply of decision `step`. */
export function readReply(spec: AgentSpec, step: number, reply: ModelReply): Reading {
  const proposed = reply.stop === "length" ? [] : reply.calls;
  const calls = proposed.map(({ tool, input }, k): Call => ({ id: `${step}.${k}`, tool, input }));
  const faults = new Map<string, string>(
    proposed.flatMap(({ fault }, k) => (fault === undefined ? [] : [[`${step}.${k}`, fault]])),
  );
  const message: ModelMessage = {
    role: "assistant",
    model: reply.model,
    ...(reply.text === undefined ? {} : { text: reply.text }),
    calls,
    ...(reply.blocks === undefined || reply.stop === "length" ? {} : { blocks: reply.blocks }),
  };
  const reading = { message, started: [], answers: [], repair: false };
  if (reply.stop === "refusal")
    return {
      ...reading,
      fail: { code: "MODEL_REFUSED", reason: reply.reason ?? reply.text ?? "the model refused" },
    };
  if (reply.stop === "context_full")
    return {
      ...reading,
      fail: { code: "MODEL_CONTEXT_FULL", reason: "the conversation fills the model's window" },
    };
  if (reply.stop === "length")
    return repaired(reading, [
      { type: "text", text: "Your reply was cut off at its length limit and not taken. Answer shorter." },
    ]);
  const { callsPerReplyMax = limits.callsPerReplyMax } = spec;
  if (calls.length > callsPerReplyMax) return tooMany(reading, calls.length, callsPerReplyMax);
  if (reply.stop === "pause" && calls.length === 0) return reading;
  if (calls.length === 0) return readText(spec, reading, reply.text);
  const last = calls.find(
    ({ tool }) => tool === "finish" || (tool === "hand_off" && spec.handsOffTo.length > 0),
  );
  if (last === undefined || (calls.length === 1 && faults.has(last.id)))
    return readCalls(spec, reading, calls, faults);
  const isFinish = last.tool === "finish";
  if (calls.length === 1)
    return isFinish ? readFinish(spec, reading, last) : takeHandOff(spec, reading, last);
  return repaired(
    reading,
    calls.map((call) =>
      refused(call, "MODEL_REPLY_INVALID", `${last.tool} must be the only call of a reply; nothing was done`),
    ),
  );
}

/** AR4. The conversation keeps none of the calls: each would have to be answered, in a message as long as the reply. */
function tooMany(reading: Reading, calls: number, most: number): Reading {
  const { message } = reading;
  const { text, model } = message.role === "assistant" ? message : {};
  return repaired(
    {
      ...reading,
      message: { role: "assistant", model: model ?? "", ...(text === undefined ? {} : { text }), calls: [] },
    },
    [
      {
        type: "text",
        text: `Your reply made ${calls} calls, and one reply may make ${most}. None of them was made. Make at most ${most} now, and the others after their results.`,
      },
    ],
  );
}

function takeHandOff(spec: AgentSpec, reading: Reading, call: Call): Reading {
  const read = readHandOff(spec, call);
  if ("refusal" in read) return repaired(reading, [refused(call, read.code, read.refusal)]);
  const { to, input } = read;
  const started = [{ type: "actor", call: call.id, tool: "hand_off", src: to, input }] as const;
  return { ...reading, started, handsOff: call.id };
}

const refused = (call: Call, code: string, reason: string): MessagePart => ({
  type: "result",
  call: call.id,
  tool: call.tool,
  outcome: "failed",
  code,
  reason,
});

const repaired = (reading: Reading, answers: readonly MessagePart[]): Reading => ({
  ...reading,
  answers,
  repair: true,
});

/** AR3. By the schema's own type: one that merely lets a text pass (any JSON, say) is not a text. */
const isText = (output: z.ZodType): boolean =>
  z.toJSONSchema(output, { io: "input", unrepresentable: "any" }).type === "string";

function readText(spec: AgentSpec, reading: Reading, text: string | undefined): Reading {
  const otherwise =
    "A text alone does nothing here. Make a call: a tool, wait, ask, or finish with the output.";
  if (text === undefined || !isText(spec.output))
    return repaired(reading, [{ type: "text", text: otherwise }]);
  const read = readWhole(spec.output, text);
  if (read.success) return { ...reading, finish: { output: text } };
  return repaired(reading, [
    { type: "text", text: `The text is not the output that is asked for. ${read.reason}` },
  ]);
}

function readFinish(spec: AgentSpec, reading: Reading, call: Call): Reading {
  const read = readWhole(z.object({ output: spec.output }), call.input);
  if (read.success)
    return { ...reading, finish: { output: (call.input as { output?: Json }).output ?? null } };
  return repaired(reading, [refused(call, "CALL_INVALID", read.reason)]);
}

/** `faults` are those of calls that could not be read. */
function readCalls(
  spec: AgentSpec,
  reading: Reading,
  calls: readonly Call[],
  faults: ReadonlyMap<string, string>,
): Reading {
  const started: StartedCall[] = [];
  const answers: MessagePart[] = [];
  for (const call of calls) {
    const fault = faults.get(call.id);
    const read = fault === undefined ? readCall(spec, call) : { code: "MODEL_REPLY_INVALID", refusal: fault };
    if ("refusal" in read) answers.push(refused(call, read.code, read.refusal));
    else started.push(read);
  }
  return { ...reading, started, answers, repair: started.length === 0 };
}

type Refusal = { readonly refusal: string; readonly code: string };

function readCall(spec: AgentSpec, call: Call): StartedCall | Refusal {
  if (!reservedNames(spec).has(call.tool)) return readToolCall(spec, call);
  if (call.tool === "send")
    return (
      faultOfSend(spec, call.input) ?? {
        ...{ type: "actor", call: call.id, tool: "send", src: "sagamesh.send", input: call.input },
      }
    );
  const schema = reservedCalls[call.tool as keyof typeof reservedCalls];
  const read = readWhole(schema, call.input);
  if (!read.success) return { code: "CALL_INVALID", refusal: read.reason };
  if (call.tool === "wait") return readWait(spec, call, read.data as z.infer<typeof reservedCalls.wait>);
  const fault =
    call.tool === "ask" ? faultOfAsked(read.data as z.infer<typeof reservedCalls.ask>) : undefined;
  if (fault !== undefined) return { code: "CALL_INVALID", refusal: fault };
  if (call.tool === "ask")
    return { type: "actor", call: call.id, tool: "ask", src: "sagamesh.question", input: call.input };
  const { calls, because = "" } = read.data as z.infer<typeof reservedCalls.undo>;
  return {
    type: "actor",
    call: call.id,
    tool: "undo",
    src: "sagamesh.compensation",
    input: { calls, because },
  };
}

/** An answer is checked against the model's own schema, so the schema must be one. */
function faultOfAsked({ schema }: z.infer<typeof reservedCalls.ask>): string | undefined {
  try {
    if (schema !== undefined) askedSchema(schema);
    return undefined;
  } catch (error) {
    return `the schema of the answer cannot be used: ${describeError(error)}`;
  }
}

function readToolCall(spec: AgentSpec, call: Call): StartedCall | Refusal {
  const callable = [...spec.tools, ...spec.agents].find((one) => one.name === call.tool);
  if (callable === undefined) return unknownTool(spec, call.tool);
  const read = readWhole(callable.input, call.input);
  if (!read.success) return { code: "CALL_INVALID", refusal: read.reason };
  return { type: "actor", call: call.id, tool: call.tool, src: call.tool, input: call.input };
}

function unknownTool(spec: AgentSpec, tool: string): Refusal {
  const known = [...[...spec.tools, ...spec.agents].map(({ name }) => name), ...reservedNames(spec)];
  return { code: "TOOL_UNKNOWN", refusal: `there is no tool "${tool}"${didYouMean(tool, known)}` };
}

function readWait(
  spec: AgentSpec,
  call: Call,
  wait: z.infer<typeof reservedCalls.wait>,
): StartedCall | Refusal {
  const unknown = wait.signals?.filter((name) => !Object.hasOwn(spec.signals, name)) ?? [];
  const [first] = unknown;
  if (first !== undefined)
    return {
      code: "SIGNAL_UNKNOWN",
      refusal: `there is no signal "${unknown.join('", "')}"${didYouMean(first, Object.keys(spec.signals))}`,
    };
  if (wait.forMs === undefined && Object.keys(spec.signals).length === 0)
    return { code: "CALL_INVALID", refusal: "no signal is declared, so a wait needs forMs" };
  return { type: "wait", call: call.id, signals: wait.signals, forMs: wait.forMs };
}
