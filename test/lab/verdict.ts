/**
 * Verdict: what a fault came to, from what is left of its run. Pure.
 *
 * LV1 A run holds if nothing `once` or `probe` is there twice, nothing `idempotent` was asked for under two keys, nothing
 *     is lost that the fault did not take, and doctor does not say that all is well beside a saga that cannot go on.
 * LV2 Nor does it hold if a saga is listed otherwise than it stands, or a task is not listed, where the fault took no turn: what was
 *     listed before a turn was lost is put right once a person has said so.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";
import type { StoredMessage } from "../../services/wire/ports.ts";
import { headers, parseInboxSubject } from "../../protocol/subjects.ts";
import type { StoredInput } from "../simulation/account.ts";
import { type Repeat, repeats } from "../simulation/oracle.ts";
import type { Act, Asked } from "../simulation/world.ts";
import type { Loss } from "./fault.ts";
import type { Word } from "./said.ts";

/** What is left of a run. Times by this machine's clock. */
export interface Remains {
  readonly ledgers: ReadonlyMap<SagaId, readonly StoredTurn[]>;
  /** How far each ledger had come when the fault struck, in turns. */
  readonly before: ReadonlyMap<SagaId, number>;
  /** Acked to clients. */
  readonly inputs: readonly StoredInput[];
  readonly dead: readonly StoredMessage[];
  readonly acts: readonly Act[];
  readonly asked: readonly Asked[];
  readonly stoodStill: (act: Act) => boolean;
  readonly struckAt: number;
  /** Sagas that had not ended when their time was over. */
  readonly standing: readonly SagaId[];
  /** What was listed otherwise than it stood, in words. */
  readonly misListed: readonly string[];
  /** All that doctor says in the end, and whether it is well. */
  readonly doctor: { readonly text: string; readonly ok: boolean };
  readonly words: readonly Word[];
  readonly takes: readonly Loss[];
}

export interface Verdict {
  readonly holds: boolean;
  readonly effects: number;
  readonly sagas: number;
  readonly twice: Readonly<Record<Repeat["effect"], number>>;
  readonly lost: Readonly<Record<Loss, number>>;
  readonly standing: number;
  /** Of those that stand, how many doctor names. */
  readonly named: number;
  /** Of the others, how many wait for an input that the fault took: who had sent it may send it again. */
  readonly bereft: number;
  /** Doctor found nothing wrong in the end. */
  readonly allIsWell: boolean;
  readonly inDoubt: number;
  /** All that was new after the blow, in the order in which it was heard. */
  readonly words: readonly Word[];
  /** Of a process's log: the first error by its code, else the first warning. */
  readonly firstWord: Word | undefined;
  readonly doctorsWord: Word | undefined;
  /** From the blow to the first effect that was sent after it. */
  readonly firstEffectMs: number | undefined;
  /** The longest time without any effect, from the blow to the last effect. */
  readonly stillMs: number;
  readonly details: readonly string[];
}

export function judgeRemains(remains: Remains): Verdict {
  const { ledgers, acts, standing, doctor, words, takes, struckAt } = remains;
  const found = repeats(remains);
  const count = (effect: Repeat["effect"]) => found.filter((one) => one.effect === effect).length;
  const twice = { once: count("once"), probe: count("probe"), idempotent: count("idempotent") };
  const lost = losses(remains);
  const isNamed = (saga: SagaId) => doctor.text.includes(saga);
  const named = standing.filter(isNamed).length;
  const waited = new Set(lost.inputs.map(({ saga }) => saga));
  const bereft = standing.filter((saga) => !isNamed(saga) && waited.has(saga)).length;
  const unexpected = Object.entries(lost).filter(
    ([loss, of]) => of.length > 0 && !takes.includes(loss as Loss),
  );
  const takesTurns = takes.includes("sagas") || takes.includes("turns");
  const misListed = takesTurns ? [] : remains.misListed; // LV2
  const said = words.filter(({ by }) => by !== "doctor");
  const after = acts.map(({ at }) => at).filter((at) => at >= struckAt);
  const sent = acts.filter(({ sentAt }) => sentAt >= struckAt).map(({ at }) => at);
  return {
    holds:
      found.length === 0 &&
      unexpected.length === 0 &&
      misListed.length === 0 &&
      (standing.length === 0 || !doctor.ok || named === standing.length),
    ...{ effects: acts.length, sagas: ledgers.size, twice, standing: standing.length, named, bereft },
    lost: { sagas: lost.sagas.length, turns: lost.turns.length, inputs: lost.inputs.length },
    allIsWell: doctor.ok,
    inDoubt: doubts(ledgers),
    words,
    firstWord: said.find(({ word }) => isCode(word)) ?? said[0],
    doctorsWord: words.find(({ by }) => by === "doctor"),
    firstEffectMs: sent.length === 0 ? undefined : Math.min(...sent) - struckAt,
    stillMs: longestStill([struckAt, ...after]),
    details: [
      ...found.map(({ effect, place, by }) => `${effect} twice: ${place} by ${by.join(", ")}`),
      ...lost.sagas.map((saga) => `lost of sagas: ${saga}`),
      ...lost.turns.map((what) => `lost of turns: ${what}`),
      ...lost.inputs.map(({ what }) => `lost of inputs: ${what}`),
      ...standing.map((saga) => `stands: ${saga}`),
      ...misListed,
    ],
  };
}

interface Losses {
  readonly sagas: readonly SagaId[];
  readonly turns: readonly string[];
  readonly inputs: readonly { readonly saga: SagaId; readonly what: string }[];
}

function losses({ ledgers, before, inputs, dead }: Remains): Losses {
  const setAside = new Set(dead.map(({ headers: fields }) => Number(fields[headers.origin]?.split("#")[1])));
  const open = inputs.filter(({ seq }) => !setAside.has(seq));
  const sagas = [...before.keys()].filter((saga) => (ledgers.get(saga)?.length ?? 0) === 0);
  return {
    sagas,
    turns: [...before].flatMap(([saga, turns]) => {
      const now = ledgers.get(saga)?.length ?? 0;
      return now > 0 && now < turns ? [`${saga}: ${turns - now}`] : [];
    }),
    inputs: open.flatMap((input) => {
      const { kind, saga } = parseInboxSubject(input.subject);
      const turns = ledgers.get(saga) ?? [];
      if (sagas.includes(saga)) return []; // Counted.
      const isThere = kind === "signal" ? isTaken(input, turns) : kind !== "start" || turns.length > 0;
      return isThere ? [] : [{ saga, what: `${input.subject}#${input.seq}` }];
    }),
  };
}

function isTaken({ headers: fields, msgId, seq }: StoredInput, turns: readonly StoredTurn[]): boolean {
  const ids = [fields[headers.event], msgId, `inbox-${seq}`];
  return turns.some(({ turn }) => turn.steps.some(({ event }) => "id" in event && ids.includes(event.id)));
}

const isCode = (word: string): boolean => /^[A-Z]+(_[A-Z]+)+$/.test(word);

const doubts = (ledgers: Remains["ledgers"]): number =>
  [...ledgers.values()]
    .flatMap((turns) => turns.flatMap(({ turn }) => turn.steps))
    .filter(({ event }) => event.type === "result" && event.result.outcome === "in_doubt").length;

function longestStill(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted.reduce((most, at, k) => Math.max(most, at - (sorted[k - 1] ?? at)), 0);
}

/** Whether a saga's last word is there. */
export const hasEnded = (turns: readonly StoredTurn[]): boolean =>
  turns.some(({ turn }) => turn.steps.some(({ intents }) => intents.some(({ kind }) => kind === "end")));
