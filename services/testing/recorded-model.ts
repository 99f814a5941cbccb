/**
 * Recorded model: a ledger's decisions, said again in a test, where asking a provider would cost money and give another
 * answer.
 *
 * RM1 The n-th decision is answered as the n-th one of the ledger was. What the ledger does not hold is a failure in
 *     words, never a guess.
 * RM2 With the definition, a decision is answered only to the request that it was an answer to; times and effect keys,
 *     which differ between two runs, left out.
 */
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import { canonicalJson } from "../../protocol/json.ts";
import { ModelFailure, type ModelPort, ModelReply, type ModelRequest } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import { recordedDecisions } from "../replay/decisions.ts";
import { atOnce } from "../wire/loop.ts";

/** What is checked of the requests that a recorded model is sent. */
export interface RecordedModelOptions {
  /** The saga that the ledger is of: then each request must be the recorded one (RM2). */
  readonly of?: SagaDefinition;
}

interface Recorded {
  readonly reply: ModelReply | undefined;
  readonly request?: ModelRequest;
}

/**
 * A model port that decides what a ledger recorded, whatever it is asked, in the ledger's order. Of several ledgers, as
 * of a saga and its sub-agents, each answers for its own saga's id; one alone answers for any. Throws LEDGER_BROKEN,
 * and with `of` FOLD_DIVERGED where the ledger is another definition's.
 *
 * @example
 * await using t = testMesh(app, { models: { claude: recordedModel(ledger) } });
 */
export function recordedModel(
  ledger: readonly Turn[] | readonly (readonly Turn[])[],
  { of }: RecordedModelOptions = {},
): ModelPort {
  const ledgers = isOne(ledger) ? [ledger] : ledger;
  const bySaga = new Map(
    ledgers.map((turns) => [turns[0]?.saga as string | undefined, decisionsOf(turns, of)]),
  );
  const alone = ledgers.length === 1 ? [...bySaga.values()][0] : undefined;
  return {
    name: "recorded",
    decide: (request, { abort }) => {
      abort.throwIfAborted();
      const where = `decision ${request.step} of saga ${request.saga}`;
      const recorded = (bySaga.get(request.saga) ?? alone)?.[request.step - 1];
      if (recorded?.reply === undefined)
        return Promise.reject(new ModelFailure("fail", `the ledger holds no reply to ${where}`));
      const difference = recorded.request && differenceOf(recorded.request, request);
      return difference === undefined
        ? Promise.resolve({ ...recorded.reply, model: recorded.reply.model ?? "recorded" })
        : Promise.reject(new ModelFailure("fail", `${where} is asked with another request: ${difference}`));
    },
  };
}

const isOne = (ledger: readonly Turn[] | readonly (readonly Turn[])[]): ledger is readonly Turn[] =>
  !Array.isArray(ledger[0]);

function decisionsOf(turns: readonly Turn[], of: SagaDefinition | undefined): readonly Recorded[] {
  if (of !== undefined) return atOnce(recordedDecisions(of.definition, turns));
  const steps = turns.flatMap((turn) => turn.steps);
  const replies = new Map<string, ModelReply>();
  for (const { event } of steps) {
    if (event.type !== "result" || event.result.outcome !== "succeeded") continue;
    const reply = ModelReply.safeParse(event.result.output);
    if (reply.success && !replies.has(event.intent)) replies.set(event.intent, reply.data);
  }
  return steps.flatMap(({ intents }) =>
    intents.flatMap((one) =>
      one.kind === "model" && one.input === undefined ? [{ reply: replies.get(one.id) }] : [],
    ),
  );
}

/** RM2. The first part that is another. */
function differenceOf(recorded: ModelRequest, asked: ModelRequest): string | undefined {
  for (const part of ["instructions", "tools", "signals", "messages"] as const) {
    const [expected, got] = [recorded[part], asked[part]].map((one) => canonicalJson(timeless(one)));
    if (expected !== got) return `its ${part}: expected ${brief(expected)}, got ${brief(got)}`;
  }
  return undefined;
}

const brief = (text = ""): string => (text.length <= 400 ? text : `${text.slice(0, 400)}…`);

/** Without times and effect keys. */
const timeless = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, member: unknown) =>
      key === "at" ? undefined : typeof member === "string" ? member.replaceAll(effectKeys, "<key>") : member,
    ),
  );

const effectKeys = /[a-z0-9_-]{1,64}\.(?:\d+-\d+|[0-9a-f]{16})\.[0-9a-f]{8,64}/g;
