/**
 * Between sagas: the two calls by which an agent reaches others that are not its tools. `send` writes to a running
 * saga, `hand_off` leaves the work to another agent.
 *
 * Owns: how a model is shown them, what of a call is taken. Does not own: the signal that a `send` becomes
 * (kernel/send.ts), the state in which an agent waits for its successor (agent/machine.ts).
 *
 * BS1 Only definitions that the agent declares can be written to, only by signals that those declare, and only with
 *     data that fits: checked here, before it is an intent. That the id is one of such a saga's only its own host can
 *     tell: the intent carries the definition's name, and the door of any other saga refuses it.
 * BS2 A `send` succeeds once it is stored for the receiver. It is taken there once, for its id is the decision's; or
 *     it is a dead letter with the reason, if there is no such saga any more. The sender hears of neither.
 */
import { z } from "zod";
import { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Call, ModelTool } from "../../protocol/model.ts";
import { didYouMean } from "../../protocol/nearest.ts";
import type { Callable } from "../machine/callable.ts";
import type { Addressee, AgentSpec } from "./agent-spec.ts";
import { readWhole } from "../values/whole.ts";
import { memorySignal } from "../contract/memory-spec.ts";

type Shown = (schema: z.ZodType) => Record<string, unknown>;

/** What a `send` holds. */
export const SendInput = z.object({
  to: z.string().min(1),
  agent: z.string(),
  signal: z.string(),
  data: z.json().optional(),
});

/** What the agent's machine invokes to write to another saga. */
export const sending = {
  kind: "send",
  name: "send",
  input: SendInput,
  output: z.json(),
} as const satisfies Callable;

/** A call's id, by which a model names a sub-agent of its own that runs. */
const CallId = z.string().regex(/^\d+\.\d+$/);

/** Names that are reserved for an agent that declares whom it may reach. */
export const namesBetween = ({ sends, handsOffTo }: AgentSpec): string[] => [
  ...(sends.length === 0 ? [] : ["send"]),
  ...(handsOffTo.length === 0 ? [] : ["hand_off"]),
];

/** The two calls as a model sees them. Throws where a schema cannot be shown. */
export function toolsBetween({ sends, handsOffTo }: AgentSpec, shown: Shown): ModelTool[] {
  const send: ModelTool = {
    name: "send",
    description: [
      "Sends a signal to another running saga, named by its id (or, if it is a sub-agent of yours that runs, by the id of that call). It succeeds once it is stored for the receiver, and says nothing of what the receiver makes of it.",
      ...sends.flatMap(({ name, signals }) =>
        Object.entries(signals).map(
          ([signal, schema]) => `${name} takes ${signal} with data ${JSON.stringify(shown(schema))}`,
        ),
      ),
    ].join("\n"),
    schema: shown(
      z.object({
        to: z.string(),
        agent: z.enum(sends.map(({ name }) => name)),
        signal: z.enum([...new Set(sends.flatMap(({ signals }) => Object.keys(signals)))]),
        data: oneOf(sends.flatMap(({ signals }) => Object.values(signals))).optional(),
      }),
    ),
  };
  const handOff: ModelTool = {
    name: "hand_off",
    description: [
      "Hands this work over for good: the other agent's end becomes the end of this work. The only call of its reply.",
      ...handsOffTo.map(({ name, description = "" }) => `${name}: ${description}`),
    ].join("\n"),
    schema: shown(
      z.object({
        to: z.enum(handsOffTo.map(({ name }) => name)),
        input: oneOf(handsOffTo.map(({ input }) => input)),
      }),
    ),
  };
  return [...(sends.length === 0 ? [] : [send]), ...(handsOffTo.length === 0 ? [] : [handOff])];
}

function oneOf(schemas: readonly z.ZodType[]): z.ZodType {
  const [first, ...rest] = new Set(schemas);
  if (first === undefined) return z.null();
  return rest.length === 0 ? first : z.union([first, ...rest]);
}

/** Whom an agent may write to, without what is for people: another's memory is not a model's to edit. */
export const writable = (sends: readonly Addressee[]): Addressee[] =>
  sends.map(({ name, signals: { [memorySignal]: _memory, ...signals } }) => ({ name, signals }));

/** What is wrong with whom an agent declares, each fault a sentence. */
export function faultsBetween({ name: agent, sends, handsOffTo }: AgentSpec): string[] {
  const twice = (what: string, all: readonly { readonly name: string }[]) =>
    all
      .filter(({ name }, index) => all.findIndex((other) => other.name === name) < index)
      .map(({ name }) => `${agent}: two of those it ${what} are named "${name}"`);
  const mute = sends.filter(({ signals }) => Object.keys(signals).length === 0);
  return [
    ...twice("sends to", sends),
    ...twice("hands off to", handsOffTo),
    ...mute.map(({ name }) => `${agent}: it sends to "${name}", which declares no signal`),
  ];
}

type Refusal = { readonly refusal: string; readonly code: string };

/** BS1: why a `send` is not taken; undefined if it is. */
export function faultOfSend({ sends }: AgentSpec, input: Json): Refusal | undefined {
  const read = readWhole(SendInput, input);
  if (!read.success) return { code: "CALL_INVALID", refusal: read.reason };
  const { to, agent, signal, data = null } = read.data;
  const addressee = sends.find(({ name }) => name === agent);
  if (addressee === undefined)
    return {
      code: "CALL_INVALID",
      refusal: `there is no agent named "${agent}" to send to${didYouMean(agent, names(sends))}`,
    };
  if (!SagaId.safeParse(to).success && !CallId.safeParse(to).success)
    return { code: "CALL_INVALID", refusal: `"${to}" is neither a saga's id nor a call's` };
  const schema = schemaOf(addressee, signal);
  if (schema === undefined)
    return {
      code: "SIGNAL_UNKNOWN",
      refusal: `${agent} declares no signal "${signal}"${didYouMean(signal, Object.keys(addressee.signals))}`,
    };
  const fits = readWhole(schema, data);
  return fits.success ? undefined : { code: "CALL_INVALID", refusal: fits.reason };
}

const names = (all: readonly { readonly name: string }[]): string[] => all.map(({ name }) => name);

const schemaOf = ({ signals }: Addressee, name: string): z.ZodType | undefined =>
  Object.hasOwn(signals, name) ? signals[name] : undefined;

/** Where a hand-off goes, or why it does not. */
export function readHandOff(
  { handsOffTo }: AgentSpec,
  { input }: Call,
): { readonly to: string; readonly input: Json } | Refusal {
  const read = readWhole(z.object({ to: z.string(), input: z.json() }), input);
  if (!read.success) return { code: "CALL_INVALID", refusal: read.reason };
  const successor = handsOffTo.find(({ name }) => name === read.data.to);
  if (successor === undefined)
    return {
      code: "CALL_INVALID",
      refusal: `there is no agent named "${read.data.to}" to hand off to${didYouMean(read.data.to, names(handsOffTo))}`,
    };
  const fits = readWhole(successor.input, read.data.input);
  return fits.success ? read.data : { code: "CALL_INVALID", refusal: fits.reason };
}
