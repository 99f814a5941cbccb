/**
 * Why, sum: what a story comes to, gathered as it is told.
 */
import type { IntentId } from "../../../protocol/ids.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { Account, Change } from "../../ledger/account.ts";
import { reasonOf } from "../../ledger/closing-words.ts";
import type { Place } from "../ledger-index.ts";
import { type Run, tellHosts } from "./hosts.ts";
import { approvedBy } from "./intents.ts";
import { nameOf, tell, type Telling, type Told } from "./telling.ts";
import { counted, dateOf, dollarsOf, lasting, listed } from "./words.ts";

/** What is gathered, a few words for an intent. */
export interface Gathering {
  /** In the order of the ledger: where an intent was decided. */
  decided(place: Place): void;
  /** What a turn has changed, once the account has taken it. */
  turned(turn: Turn, changes: readonly Change[]): void;
  /** In sentences of the last turn. `order`: all intents, as they were decided. Nothing of no turn. */
  sum(order: Iterable<IntentId>): Told[];
}

const longestMax = 3;
const waitShownMs = 1_000;

/** Of a ledger whose account is read beside. */
export function gathering(t: Telling, accountOf: () => Account): Gathering {
  let last: Pick<Turn, "turn" | "at" | "host"> | undefined;
  const runs: Run[] = [];
  const waited = new Map<IntentId, number>();
  const refused = new Map<IntentId, string | undefined>();
  const approved = new Map<IntentId, IntentId>();
  const attempts = new Map<IntentId, number>();

  function change(one: Change, at: number): void {
    if (one.type !== "retried" && !("ended" in one)) return;
    const { intent, attempt } = one.intent;
    const { id } = intent;
    waited.delete(id);
    refused.delete(id);
    if (one.type === "retried") attempts.set(id, attempt);
    if (!("ended" in one)) return;
    const ms = at - (t.decided.get(id)?.at ?? at);
    if (ms >= waitShownMs && intent.kind !== "end") waited.set(id, ms);
    const isServing = "for" in intent && intent.for !== undefined;
    if (one.ended.as === "denied" && !isServing) refused.set(id, reasonOf(accountOf(), one.intent));
  }

  return {
    decided: (place) => {
      const { intent } = place;
      const { id } = intent;
      if (intent.kind === "denied" && intent.for === undefined) refused.set(id, intent.reason);
      const task = approvedBy(t, place);
      if (task !== undefined) approved.set(id, task);
    },
    turned: ({ turn, at, host }, changes) => {
      last = { turn, at, host };
      const run = runs.at(-1);
      if (run?.host === host) run.to = turn;
      else runs.push({ host, from: turn, to: turn });
      for (const one of changes) change(one, at);
    },
    sum: (order) => {
      if (last === undefined) return [];
      const ids = [...order];
      const those = <T>(map: ReadonlyMap<IntentId, T>) => ids.filter((id) => map.has(id));
      const about = { t, account: accountOf(), last };
      return [
        costs(about),
        ...waits(about, those(waited), waited, those(accountOf().open)),
        ...refusals(about, those(refused), refused),
        ...leaves(about, those(approved), approved),
        tellHosts(runs, last),
        ...retries(about, those(attempts), attempts),
        ...remains(about, those(accountOf().undone)),
      ];
    },
  };
}

interface About {
  readonly t: Telling;
  readonly account: Account;
  readonly last: Pick<Turn, "turn" | "at">;
}

function costs({ account: { spent, below }, last }: About): Told {
  const { steps, inputTokens, outputTokens, usd, toolCalls, children } = spent;
  const words = [
    counted(steps, "decision"),
    `${inputTokens.toLocaleString("en-US")} + ${counted(outputTokens, "token")}`,
    ...(usd === 0 ? [] : [dollarsOf(usd)]),
    counted(toolCalls, "call") + " of tools",
    ...(children === 0 ? [] : [counted(children, "sub-agent")]),
  ];
  const under =
    below === undefined
      ? ""
      : ` Below it: ${counted(below.inputTokens + below.outputTokens, "token")}${below.usd === 0 ? "" : `, ${dollarsOf(below.usd)}`}${below.unreportedTokens === 0 ? "" : `, and ${counted(below.unreportedTokens, "token")} that nobody reported`}.`;
  return tell(last, "cost", `It cost ${listed(words)}.${under}`, []);
}

/** What it waited for: what had an end, and how long it took to it. */
function waits(
  { t, account: { startedAt, updatedAt, open }, last }: About,
  ids: readonly IntentId[],
  waited: ReadonlyMap<IntentId, number>,
  openIds: readonly IntentId[],
): Told[] {
  const longest = ids
    .map((id) => ({ id, ms: waited.get(id) ?? 0 }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, longestMax)
    .map(({ id, ms }) => `${nameOf(t, id)} (${lasting(ms)})`);
  const on = longest.length === 0 ? "" : `; the longest waits were for ${listed(longest)}`;
  const took = `It took ${lasting(updatedAt - startedAt)}, from ${dateOf(startedAt)} to ${dateOf(updatedAt)}${on}.`;
  const stillOpen = openIds
    .filter((id) => open.get(id)?.intent.kind !== "end")
    .map((id) => `${nameOf(t, id)}, since ${dateOf(t.decided.get(id)?.at ?? 0)}`);
  return [
    tell(last, "waited", took, []),
    ...(stillOpen.length === 0
      ? []
      : [tell(last, "waited", `Open at its last turn: ${listed(stillOpen)}.`, [])]),
  ];
}

function refusals(
  { t, last }: About,
  ids: readonly IntentId[],
  reasons: ReadonlyMap<IntentId, string | undefined>,
): Told[] {
  const names = ids.map((id) => {
    const reason = reasons.get(id);
    return `${nameOf(t, id)}${reason === undefined || reason === "" ? "" : `: ${reason}`}`;
  });
  return names.length === 0 ? [] : [tell(last, "refused", `Refused: ${names.join("; ")}.`, [])];
}

function leaves(
  { t, last }: About,
  ids: readonly IntentId[],
  tasks: ReadonlyMap<IntentId, IntentId>,
): Told[] {
  const approved = ids.map((id) => {
    const task = tasks.get(id);
    const by = task === undefined ? undefined : t.approvals.get(task);
    const whom =
      by === undefined ? "nobody spoke against it in time, or a saga did for people" : listed([...by]);
    return `${nameOf(t, id)} (${whom})`;
  });
  return approved.length === 0
    ? []
    : [tell(last, "people", `Approved before it was done: ${listed(approved)}.`, [])];
}

function retries(
  { t, last }: About,
  ids: readonly IntentId[],
  attempts: ReadonlyMap<IntentId, number>,
): Told[] {
  if (ids.length === 0) return [];
  const parts = ids.map((id) => `${nameOf(t, id)} in ${attempts.get(id) ?? 1} attempts`);
  return [tell(last, "recovery", `Tried more than once: ${listed(parts)}.`, [])];
}

function remains({ t, account: { effects, end }, last }: About, undoneIds: readonly IntentId[]): Told[] {
  const undone = undoneIds.map((id) => nameOf(t, id));
  const standing = (as: string) =>
    [...effects.values()].flatMap(({ intent, outcome }) => (outcome === as ? [nameOf(t, intent)] : []));
  const [certain, doubtful] = [standing("succeeded"), standing("in_doubt")];
  const stands = certain.length === 0 ? "No effect is known to stand" : `What stands: ${listed(certain)}`;
  const status = end?.intent.status;
  return [
    ...(undone.length === 0 ? [] : [tell(last, "undone", `Undone: ${listed(undone)}.`, [])]),
    tell(last, "stands", `${stands}${doubtful.length === 0 ? "" : `; in doubt: ${listed(doubtful)}`}.`, []),
    tell(
      last,
      "end",
      status === undefined
        ? "It has not ended."
        : `It ${status === "completed" ? "completed" : status === "failed" ? "failed" : "was cancelled"}.`,
      [],
    ),
  ];
}
