/**
 * Verify evidence: how far a ledger goes, and what outside of it names a turn that it lacks.
 *
 * VE1 A chain proves each turn by the one after it, so it cannot tell that its last turns are gone: a ledger that was cut is
 *     whole. What was written elsewhere because of a turn can: what it started, signalled, claimed or told, what was
 *     copied of it. What only the missing turns named tells nothing, so nothing here ever proves that none is missing.
 * VE2 Evidence is held against the ledger and never believed in its place: it may be forged itself. It is a finding that the
 *     two differ, with the turn and where it is named.
 * VE3 Who kept a turn's number and hash (`last`) can tell by them, however much was taken away.
 */
import type { VerifyDocument } from "../../protocol/documents/verify.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { ParentRef } from "../../protocol/event.ts";
import {
  childSagaId,
  type IntentId,
  intentId,
  parseIntentId,
  type SagaId,
  turnOf,
} from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { DecidedIntent } from "../ledger/account.ts";
import { createAccountReader } from "../ledger/account-reader.ts";

type Finding = VerifyDocument["findings"][number];

/** Something outside of a ledger that names its turns. */
export interface Mention {
  /** In words: `the snapshot`, `turn 9 of hire-41`. */
  readonly where: string;
  /** A turn that there must be. */
  readonly turn?: number;
  /** Of that turn's bytes. */
  readonly hash?: string;
  /** The key of an effect that a turn must have decided. */
  readonly key?: string;
  /** How often the saga's end was heard of, by this saga. */
  readonly ends?: { readonly heard: number; readonly by: SagaId };
}

/** What was looked at beside a ledger, in words, and what it names. */
export interface Evidence {
  readonly compared: readonly string[];
  readonly mentions: readonly Mention[];
}

/** How far a ledger goes, by the turns of it that are whole. */
export interface Stand {
  readonly saga: SagaId;
  readonly turns: number;
  /** Of each turn's bytes, in order. */
  readonly hashes: readonly string[];
  readonly parent: ParentRef | undefined;
  /** How many ends its parent was, or is to be, told of. */
  readonly ends: number;
  readonly standing: VerifyDocument["standing"];
  /** Of the effects that its turns decided. */
  readonly keys: ReadonlySet<string>;
  /** What its turns started. */
  readonly children: ReadonlySet<SagaId>;
}

/** Follows a ledger that is read turn by turn, as far as its turns are whole and follow one another. */
export function createStand(saga: SagaId): {
  take(turn: Turn | undefined, hash: string): void;
  stand(): Stand;
} {
  const reader = createAccountReader(0); // How it stands is asked, and nothing of what is over.
  const hashes: string[] = [];
  const [keys, children] = [new Set<string>(), new Set<SagaId>()];
  let ends = 0;
  let isSound = true;
  return {
    take: (turn, hash) => {
      isSound &&= turn !== undefined;
      if (!isSound || turn === undefined) return;
      try {
        reader.take(turn);
        hashes.push(hash);
        for (const intent of turn.steps.flatMap(({ intents }) => intents)) {
          if (intent.kind === "end" && intent.tells === true) ends += 1;
          if (intent.kind === "tool") keys.add(intent.key);
          if (intent.kind === "saga") children.add(intent.saga);
        }
      } catch (error) {
        if (!isMeshError(error, "LEDGER_BROKEN")) throw error;
        isSound = false;
      }
    },
    stand: () => {
      const account = hashes.length === 0 ? undefined : reader.account;
      const parent = account?.start.fork === undefined ? account?.start.parent : undefined;
      const standing = account && standingOf(account);
      return { saga, turns: hashes.length, hashes, parent, ends, standing, keys, children };
    },
  };
}

/** Open intents that are named; the rest is counted. */
const namedMax = 5;

function standingOf({
  end,
  open,
}: ReturnType<typeof createAccountReader>["account"]): VerifyDocument["standing"] {
  const opened = [...open.values()];
  return {
    status: end?.intent.status ?? "running",
    ...(end === undefined ? {} : { endedIn: end.turn }),
    open: opened.slice(0, namedMax).map(({ intent, place }) => ({
      intent: intent.id,
      what: wordOf(intent),
      since: place.at,
    })),
    openCount: opened.length,
  };
}

const wordOf = (intent: DecidedIntent): string =>
  "name" in intent ? `${intent.kind} ${intent.name}` : intent.kind;

/** Where a ledger and what was found beside it differ (VE2), the turns in order. */
export function heldAgainst(stand: Stand, { mentions }: Pick<Evidence, "mentions">): Finding[] {
  return mentions
    .flatMap((mention) => [turnFault(stand, mention), keyFault(stand, mention), endFault(stand, mention)])
    .filter((finding) => finding !== undefined)
    .sort((a, b) => a.turn - b.turn);
}

function turnFault({ turns, hashes }: Stand, { where, turn, hash }: Mention): Finding | undefined {
  if (turn === undefined) return undefined;
  if (turn > turns)
    return {
      turn,
      code: "LEDGER_SHORT",
      what: `it is missing: ${where} names it, and the last turn is ${turns}`,
    };
  const own = hashes[turn - 1];
  return hash === undefined || hash === own
    ? undefined
    : { turn, code: "LEDGER_BROKEN", what: `${where} has it as ${hash}, and its hash is ${own}` };
}

/** What forks undo of a saga's effects is under that effect's key and one part more. */
function keyFault({ turns, keys }: Stand, { where, key }: Mention): Finding | undefined {
  if (key === undefined || keys.has(key) || keys.has(key.split(".").slice(0, 3).join("."))) return undefined;
  return {
    turn: turns + 1,
    code: "LEDGER_SHORT",
    what: `it is missing: ${where} is of an effect that none of the ${turns} turns decided`,
  };
}

function endFault({ turns, parent, ends }: Stand, { where, ends: told }: Mention): Finding | undefined {
  if (told === undefined || told.by !== parent?.saga || told.heard <= ends) return undefined;
  const what = `it is missing: ${where} has heard ${told.heard === 1 ? "the saga's end" : `${told.heard} ends of the saga`}`;
  return { turn: turns + 1, code: "LEDGER_SHORT", what: `${what}, and the ledger has ${ends || "none"}` };
}

/** What the turns of some ledgers say of others. */
export interface Mentions {
  /** Takes a turn of any ledger; those of one in order. */
  take(turn: Turn): void;
  /** What was said of a saga so far: the latest turn, and what was heard of its ends. */
  of(saga: SagaId): readonly Mention[];
}

/** No mention of anything yet. Holds a little for each saga that is named. */
export function createMentions(): Mentions {
  const latest = new Map<string, Mention & { readonly turn: number }>();
  const children = new Map<string, { readonly saga: SagaId; readonly isUndo: boolean }>();
  const heard = new Map<SagaId, { readonly by: SagaId; readonly in: Set<IntentId> }>();
  const name = (saga: string, turn: number, where: string) => {
    if (turn > (latest.get(saga)?.turn ?? 0)) latest.set(saga, { where, turn });
  };
  return {
    take: ({ saga: by, turn, steps }) => {
      const where = `turn ${turn} of ${by}`;
      for (const { event, intents } of steps) {
        if (event.type === "start" && event.parent !== undefined)
          name(event.parent.saga, turnOf(event.parent.intent), where);
        if (event.type === "start" && event.fork !== undefined) name(event.fork.saga, event.fork.turn, where);
        if (event.type === "signal") {
          const sent = sentBy(event.id);
          if (sent?.saga === event.from) name(sent.saga, turnOf(sent.intent), where);
        }
        for (const intent of intents)
          if (intent.kind === "saga")
            children.set(`${by}/${intent.id}`, {
              saga: intent.saga,
              isUndo: intent.undoes !== undefined && intent.starts !== true,
            });
        if (event.type !== "result") continue;
        const child = children.get(`${by}/${event.intent}`);
        const { result } = event;
        const isEnd =
          result.outcome === "succeeded" ||
          (child?.isUndo === false && result.outcome === "failed" && result.code !== "SAGA_ID_TAKEN");
        if (child === undefined || event.by !== child.saga || !isEnd) continue;
        const told = heard.get(child.saga) ?? { by, in: new Set() };
        heard.set(child.saga, told);
        if (told.by === by) told.in.add(event.intent);
      }
    },
    of: (saga) => {
      const turn = latest.get(saga);
      const ends = heard.get(saga);
      return [
        ...(turn === undefined ? [] : [turn]),
        ...(ends === undefined
          ? []
          : [{ where: `its parent ${ends.by}`, ends: { heard: ends.in.size, by: ends.by } }]),
      ];
    },
  };
}

/** What has the form of a child's id. Of one that was begun, its first turn names its parent. */
export const looksLikeChild = (saga: SagaId): boolean => new RegExp(`-[0-9a-f]{${hashChars}}$`).test(saga);

/** The saga and intent that a signal's id is made of, where another saga sent it. */
function sentBy(id: string): { saga: string; intent: IntentId } | undefined {
  const [, saga, intent] = /^([a-z0-9_-]{1,64}):(\d{1,10}-\d{1,5})$/.exec(id) ?? [];
  return saga === undefined || intent === undefined ? undefined : { saga, intent: parseIntentId(intent) };
}

/** How many turns after the last one, and places in each, are tried. */
const ahead = { turns: 32, places: 64 };
const hashChars = 24;

/**
 * The sagas among these that only a later turn of the ledger can have started. Of one whose keys are made of turns: there
 * the ids of children are hashes of intents.
 */
export function childrenAhead({ saga, turns }: Stand, sagas: readonly SagaId[]): Mention[] {
  const byHash = new Map(sagas.map((one) => [one.slice(-hashChars), one]));
  const mentions: Mention[] = [];
  for (let turn = turns + 1; turn <= turns + ahead.turns; turn++)
    for (let place = 0; place < ahead.places; place++) {
      const child = byHash.get(childSagaId(saga, intentId(turn, place), "x").slice(-hashChars));
      if (child !== undefined) mentions.push({ where: `the child ${child}`, turn });
    }
  return mentions;
}
