/**
 * Saga: what is shown of one saga, each a document of its own that says all that a view of the page needs.
 */
import { type IntentId, parseIntentId, type SagaId } from "../../protocol/ids.ts";
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import type { WhySentence } from "../../protocol/documents/why.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Turn } from "../../protocol/turn.ts";
import { readRegistry, type Registered, viewingBy } from "../client/registry.ts";
import type { ClientDeps } from "../client/send.ts";
import { waitingOf } from "../client/unserved.ts";
import { accounting } from "../ledger/account-reader.ts";
import { lastOf } from "../ledger/last-of.ts";
import { createInspecting } from "../views/inspected.ts";
import { type ViewOptions, viewOfAccount } from "../views/view.ts";
import { turnsUpTo } from "../views/up-to.ts";
import { tellWhy, whyIntent } from "../views/why/why.ts";
import { inPieces } from "../wire/loop.ts";
import type {
  IntentStory,
  MemoryDocument,
  SagaDocument,
  StoryDocument,
  TimelineDocument,
} from "./documents.ts";
import { folded } from "./folding.ts";
import { memoryOf, type Remembering } from "./memory.ts";
import type { Reading, Readings } from "./readings.ts";
import { changedAfter, timelineOf } from "./timeline.ts";

/** Asks about one saga. Each throws what `Readings` does, and TURN_UNKNOWN. */
export interface SagaTeller {
  /** As it stands, or as it stood after the turn. */
  saga(saga: SagaId, turn?: number): Promise<SagaDocument>;
  /** All of it, or what a later turn than `after` has changed. */
  timeline(saga: SagaId, after: number): Promise<TimelineDocument>;
  /** One intent whole, and its story. Throws INTENT_UNKNOWN, BAD_ID. */
  intent(saga: SagaId, intent: string): Promise<IntentStory>;
  story(saga: SagaId, turn?: number): Promise<StoryDocument>;
  /** What an agent remembers, as a host last kept it. */
  memory(saga: SagaId): Promise<MemoryDocument>;
  /** A turn as the ledger has it. */
  turn(saga: SagaId, turn: number): Promise<Turn>;
  /** Its first turns, for who draws or folds them; `of`: how many there are. */
  turns(
    saga: SagaId,
    turn?: number,
  ): Promise<{ readonly turns: readonly Turn[]; readonly of: number; readonly viewing: ViewOptions }>;
}

/** Long stories are told by their end: a person who reads more has the command line. */
const sentencesMax = 2_000;

export function createSagaTeller(
  deps: ClientDeps,
  readings: Readings,
  remembering: Remembering = async () => undefined,
): SagaTeller {
  const { ports } = deps;
  /** The timeline of a reading as far as it goes: a page asks for it again and again. */
  const timelines = new WeakMap<Reading, { readonly turns: number; readonly timeline: TimelineDocument }>();
  const viewing = async () => viewingBy(await readRegistry(ports.registry));
  const upTo = async (saga: SagaId, turn: number | undefined) => {
    const reading = await readings(saga);
    const all = [...reading.turns]; // It may grow while it is told.
    if (turn === undefined) return { all, turns: all, reading };
    if (!Number.isInteger(turn) || turn < 1 || turn > all.length)
      throw new MeshError("TURN_UNKNOWN", `${saga} has turns 1 to ${all.length}, and no turn ${turn}`);
    return { all, turns: all.slice(0, turn), reading };
  };
  return {
    saga: async (saga, turn) => {
      const { all, turns, reading } = await upTo(saga, turn);
      const registered = await readRegistry(ports.registry);
      if (turn === undefined) {
        const document = summaryOf(reading.inspecting.document(viewingBy(registered)), registered);
        return document.status === "running" ? { ...document, ...(await waitingOf(deps, saga)) } : document;
      }
      const document = await inPieces(ports.loop, inspectedOf(turns, viewingBy(registered)));
      const last = turns.at(-1);
      const asOf = last === undefined ? {} : { asOf: { turn, at: last.at, of: all.length } };
      return { ...summaryOf(document, registered), ...asOf, of: all.length };
    },
    timeline: async (saga, after) => {
      const { turns, reading } = await upTo(saga, undefined);
      const known = timelines.get(reading);
      const isSame = known?.turns === turns.length;
      const timeline = isSame
        ? known.timeline
        : await inPieces(ports.loop, timelineOf(turns, await viewing()));
      timelines.set(reading, { turns: turns.length, timeline });
      return after === 0 ? timeline : changedAfter(timeline, after);
    },
    intent: async (saga, word) => {
      const intent = parseIntentId(word);
      const { turns } = await upTo(saga, undefined);
      return intentStory(turns, intent, await viewing(), ports.loop);
    },
    story: async (saga, turn) => storyOf((await upTo(saga, turn)).turns, ports.loop),
    memory: async (saga) => {
      const found = await remembering(saga);
      return memoryOf(await readings(saga), found); // Read after it: what was kept is no newer.
    },
    turn: async (saga, turn) => {
      const { turns } = await upTo(saga, turn);
      const [last] = turns.slice(-1);
      if (last === undefined) throw new MeshError("TURN_UNKNOWN", `${saga} has no turn ${turn}`);
      return last;
    },
    turns: async (saga, turn) => {
      const { turns, all } = await upTo(saga, turn);
      return { turns, of: all.length, viewing: await viewing() };
    },
  };
}

async function storyOf(turns: readonly Turn[], loop: ClientDeps["ports"]["loop"]): Promise<StoryDocument> {
  const { listener, sum } = await tellWhy(turnsUpTo(turns, loop), undefined, () => {
    const sentences = lastOf<WhySentence>(sentencesMax);
    return {
      sentences,
      say: (some) => {
        for (const one of some) sentences.add(one);
      },
    };
  });
  return { sentences: listener.sentences.all(), sum };
}

/** Without what the timeline has, and with long values folded. */
function summaryOf(
  { intents: _intents, events: _events, ...document }: InspectDocument,
  { definitions }: Registered,
): SagaDocument {
  const { input, end, memory, definition } = document;
  const kind = definitions.find(
    ({ name, hash }) => name === definition.name && hash === definition.hash,
  )?.kind;
  return {
    ...document,
    ...(kind === undefined ? {} : { kind }),
    input: folded(input),
    ...(end?.output === undefined ? {} : { end: { ...end, output: folded(end.output) } }),
    ...(memory === undefined ? {} : { memory: folded(memory) }),
  };
}

function* inspectedOf(turns: readonly Turn[], viewing: ViewOptions): Generator<undefined, InspectDocument> {
  const inspecting = createInspecting();
  for (const turn of turns) {
    inspecting.take(turn);
    yield;
  }
  return inspecting.document(viewing);
}

async function intentStory(
  turns: readonly Turn[],
  intent: IntentId,
  viewing: ViewOptions,
  loop: ClientDeps["ports"]["loop"],
): Promise<IntentStory> {
  const account = await inPieces(loop, accounting(turns));
  const viewed = viewOfAccount(account, viewing).intents.find((one) => one.intent.id === intent);
  const told = account.intents.get(intent);
  if (viewed === undefined || told === undefined)
    throw new MeshError("INTENT_UNKNOWN", `${account.saga} has no intent ${intent}`);
  const why = await whyIntent(turnsUpTo(turns, loop), undefined, intent);
  const { input, output, ...rest } = viewed;
  return {
    intent: {
      ...rest,
      ...(input === undefined ? {} : { input: folded(input) }),
      ...(output === undefined ? {} : { output: folded(output) }),
    },
    at: told.place.at,
    ...(told.ended === undefined ? {} : { until: told.ended.at }),
    why: why.sentences,
  };
}
