/**
 * The kind of agents: a model decides, its calls' inputs stand in its replies, and a memory stands beside its machine.
 */
import { assert } from "../../protocol/errors.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { builtInMachine } from "../contract/built-in.ts";
import type { BuiltRequest, Definition, Kind, ModelAsker, ModelQuery } from "../contract/definition.ts";
import { memorySignal, type MemorySpec } from "../contract/memory-spec.ts";
import type { Callable } from "../machine/callable.ts";
import type { RequestParts } from "../request/agent-spec.ts";
import { askedSchema } from "../request/conversation.ts";
import { Asked, askedDigest, buildRequest, modelOf } from "../request/request.ts";
import { framed } from "../request/variant.ts";
import type { AgentContext } from "./context.ts";
import { learnt, refusalOfEdit } from "./memory.ts";

/** What an agent's definition has besides. */
export interface AgentOwn extends RequestParts {
  readonly memory: MemorySpec | undefined;
  /** Whether its model's calls may refer to earlier results and say what they rest on. */
  readonly references: boolean;
  /** The most tokens a decision may write; undefined: as the port has it, or the default where tokens are counted. */
  readonly outputTokensMax: number | undefined;
}

/** The kind's record. */
export const agentKind: Kind<AgentOwn> = {
  name: "agent",
  takes: ["instruct", "rate_limited"],
  calls: "replied",
  hears: "read",
  decision: "decision",
  redoes: false,
  tellsIgnored: false,
  machineInput: (_given, read, at) => ({ input: read, at }),
  ...builtInMachine,
  refusalOf: (definition, state, { name, data }) =>
    name === memorySignal ? refusalOfEdit(definition, state, data) : undefined,
  answerSchema: (input) => {
    const shown = (input as { schema?: Record<string, unknown> } | null)?.schema; // Proof: read as a call of `ask`.
    return shown === undefined ? undefined : askedSchema(shown);
  },
  memory: ({ own }) => own.memory?.initial,
  learn: learnt,
  query: queryOf,
  requestOf: ({ own }, { saga, variant, open }, messages): BuiltRequest | undefined => {
    const { frame, frameDigest } = framed(own, variant);
    const { now } = open as { readonly now: number }; // Proof: queryOf made it.
    if (frame === undefined) return undefined;
    return buildRequest(
      { context: own.context, frame, frameDigest },
      saga,
      { ...Asked.parse(open), now },
      messages,
    );
  },
  heard: (reply) => reply,
  /** A decision's digest and whether it is the last stand in the machine's context only. */
  again: (_, { snapshot }, { input }) => {
    const { step, cut, summarize } = Asked.parse(input);
    const { digest, last } = snapshot.context as AgentContext; // Proof: it is the machine of agent.ts.
    return toJson({ step, digest, cut, summarize, ...(summarize === undefined ? { last } : {}) });
  },
};

/** Whether a definition is an agent's. */
export const isAgent = (definition: Definition): definition is Definition<AgentOwn> =>
  definition.kind === agentKind;

type DecisionInput = Asked & { readonly digest: string; readonly last?: "told" | "asked" };

/** A decision, or the summary that one needs first: both are calls of a model and count alike. */
function queryOf(
  { own }: Definition<AgentOwn>,
  _: Callable,
  input: Json,
  { variant }: Pick<ModelAsker, "variant">,
): ModelQuery {
  const { frame, frameDigest } = framed(own, variant);
  assert(frame !== undefined, "an agent whose requests cannot be built is never served");
  const { digest, last, ...plain } = input as unknown as DecisionInput; // Proof: the machine's `asked` made it.
  const { summarize } = plain;
  return {
    model: modelOf(own.context, plain) ?? frame.model,
    counts: summarize === undefined ? "decision" : "summary",
    last,
    outputTokensMax: own.outputTokensMax,
    intentOf: (at, outputTokensMax) => {
      const asked = outputTokensMax === undefined ? plain : { ...plain, outputTokensMax };
      return {
        request: askedDigest({ context: own.context, frameDigest }, asked, at, digest),
        ...(summarize === undefined ? {} : { input: { summarize } }),
        open: toJson({ ...asked, now: at }),
      };
    },
  };
}
