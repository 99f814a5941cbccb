/**
 * Restored: a person's word that the mesh's store was put back from a copy, and what is done on it before anything runs.
 *
 * RW1 Where the claims were put back, too, nothing in the store tells what was done after the copy was made. So calls are
 *     asked about (services/perform/asked.ts) from the first step on, until a person says that what was lost is known.
 * RW2 What a snapshot knows beyond its ledger, and what is open, is claimed for nobody before the processes that wait are let
 *     go, which is the last step. Broken off anywhere, all of it may be said again.
 * RW3 All that is open is handed on again, whatever stands in the queues: their streams were copied each at its own moment, and
 *     what one of them has acked another may have lost.
 * RW4 Claims that were kept know of all that was begun but by sagas that are archived (services/archive/left.ts), and an older copy
 *     brings those back. So where the copy is nearly as old as such a claim may be, sagas that began before that are asked about.
 */
import type { RestoredCall, RestoredDocument, SagaAhead } from "../../protocol/documents/restored.ts";
import { minOf } from "../../protocol/extremes.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { isLedgerStream, streams } from "../../protocol/subjects.ts";
import type { Effect } from "../../protocol/tool.ts";
import { readRegistry } from "../client/registry.ts";
import { isBeyond, noteBeyond, openCalls } from "../host/behind.ts";
import { readSnapshot, type Snapshot } from "../host/snapshots.ts";
import type { Account } from "../ledger/account.ts";
import { accountOf } from "../ledger/account-reader.ts";
import { claimsFor, openEffects } from "../ledger/beyond.ts";
import { emptyHead, lastTurnOf, type Link, readChain } from "../ledger/chain.ts";
import { readMany } from "../ledger/many.ts";
import { isTombstone, turnsOf } from "../ledger/reader.ts";
import { type Broken, lookAtRestored, markRestored, releaseRestored } from "../nats/rebuild.ts";
import { askedHolder } from "../perform/asked.ts";
import { silentLog } from "../process/log.ts";
import { eachOf } from "../process/each-of.ts";
import {
  createMentions,
  createStand,
  heldAgainst,
  type Mentions,
  type Stand,
} from "../views/verify-evidence.ts";
import { publishNudge } from "../wire/nudge.ts";
import { spoilListing } from "../listing/whole.ts";
import { patiently } from "../wire/patience.ts";
import type { RestoreMark } from "../wire/restored.ts";
import type { Config } from "./config.ts";
import { besideLedger } from "./evidence.ts";
import { type ClientMesh, openClientMesh } from "./mesh.ts";
import { onLedgers } from "./on-ledgers.ts";

export interface RestoredOptions {
  /** Only say what would be done. */
  readonly isDryRun: boolean;
  /** Only LEDGER was put back: the claims know of all that was begun, and nothing is asked about but for RW4. */
  readonly keptClaims: boolean;
  /** Sagas that begin within this time from now count as from before: their starts wait, or are sent again. */
  readonly startsMs: number;
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

type Looking = Pick<RestoredOptions, "report" | "signal">;
type Context = Parameters<typeof lookAtRestored>[0];

const progressEvery = 1_000;
/** Claims that are written at a time. */
const atOnce = 32;
/** Findings that are told of one saga. */
const toldMax = 3;

/** Works on the streams themselves. */
const onStreams = <T>(config: Config, options: Looking, run: (context: Context) => Promise<T>): Promise<T> =>
  onLedgers("sagamesh restored", config, options, ({ context }) => run(context));

/** Says that nothing need be asked about any more. */
export async function settleRestored(config: Config, options: Looking): Promise<RestoredDocument> {
  await onStreams(config, options, (context) => markRestored(context, undefined));
  return { outcome: "settled" };
}

/** Takes a restore's consequences (RW1, RW2). Throws MESH_INCOMPLETE, MESH_MIXED, UNAVAILABLE; said again it goes on. */
export async function sayRestored(config: Config, options: RestoredOptions): Promise<RestoredDocument> {
  const { isDryRun, keptClaims, startsMs, report, signal } = options;
  const broken = await onStreams(config, options, lookAtRestored);
  const reading = { mustExist: true, name: "sagamesh restored", reading: true, report, signal };
  const mesh = await openClientMesh({ servers: config.servers, dataDir: config.serverDir, ...reading });
  try {
    const at = await patiently(mesh.clock, () => mesh.ports.claims.now(), { signal });
    const mark = keptClaims ? markOfKept(at, endOfCopy(broken)) : { at, until: at + startsMs };
    if (!isDryRun && mark !== undefined)
      await onStreams(config, options, (context) => markRestored(context, mark)); // RW1
    const found = await lookAtAll({ mesh, config, options, mark });
    const { fault } = broken;
    const document = {
      ...(fault === undefined ? {} : { why: `stream ${fault.stream} ${fault.what}` }),
      ...(mark === undefined ? {} : { asks: mark }),
      ...{ sagas: found.sagas, ahead: found.ahead, calls: found.looked.flatMap(({ calls }) => calls) },
      ...(found.looked.unreadable.length === 0 ? {} : { unreadable: [...found.looked.unreadable] }),
    };
    if (isDryRun) return { outcome: "due", ...document };
    if (hasFollowers(broken)) await mesh.clock.sleep(limits.deposedMsMax, signal); // A deposed leader's end is none.
    for (const { saga, snapshot } of found.looked)
      if (snapshot !== undefined) await noteAhead(mesh, saga, snapshot);
    const standing = found.looked.filter(({ isOpen }) => isOpen);
    await eachOf(standing, atOnce, ({ saga, handOn }) =>
      patiently(mesh.clock, () => publishNudge(mesh.ports, saga, handOn), { signal }),
    );
    await patiently(mesh.clock, () => spoilListing(mesh.ports.registry), { signal });
    await onStreams(config, options, (context) => releaseRestored(context, broken));
    return { outcome: "said", ...document, nudged: standing.length };
  } finally {
    await mesh.close();
  }
}

/** When the last turn of the copy was stored; of several streams the oldest of those, for any of them may be the copy. */
const endOfCopy = ({ there }: Broken): number =>
  minOf(
    there.flatMap(({ config, state }) =>
      isLedgerStream(config.name) && state.messages > 0 ? [Date.parse(state.last_ts)] : [],
    ),
    Number.POSITIVE_INFINITY,
  );

/** RW4. Undefined: no claim that the copy could ask for has gone. */
export function markOfKept(at: number, copiedAt: number): RestoreMark | undefined {
  const sureMs = limits.signalHorizonMs - limits.lateCallMs;
  return at - copiedAt < sureMs ? undefined : { at, until: at - sureMs };
}

const hasFollowers = ({ there }: Broken): boolean =>
  there.some(({ config }) => config.name === streams.ledger && config.num_replicas > 1);

interface Looked {
  readonly saga: SagaId;
  readonly stand: Stand;
  readonly what: readonly string[];
  readonly calls: readonly RestoredCall[];
  readonly isOpen: boolean;
  /** RW3. */
  readonly handOn: readonly IntentId[];
  /** One that is ahead of the ledger. */
  readonly snapshot: Snapshot | undefined;
}

interface Walk {
  readonly mesh: ClientMesh;
  readonly config: Config;
  readonly options: RestoredOptions;
  readonly mark: RestoreMark | undefined;
}

async function lookAtAll({ mesh, config, options, mark }: Walk) {
  const { ports, clock } = mesh;
  const { report, signal, isDryRun } = options;
  const sagas = (await patiently(clock, () => ports.ledger.list(), { signal })).map(({ saga }) => saga);
  const { tools } = await readRegistry(ports.registry);
  const effects = new Map(tools.map(({ contract, effect }) => [contract, effect]));
  const mentions = createMentions();
  let count = 0;
  const looked = await readMany(
    sagas,
    async (saga): Promise<Looked | undefined> => {
      count += 1;
      if (count % progressEvery === 0) report(`looked at ${count} of ${sagas.length} sagas`);
      const one = await lookAt(mesh, config, saga, mentions);
      if (one === undefined) return undefined;
      const effectOf = (contract: string) => effects.get(contract);
      if (!isDryRun && mark !== undefined) await claimOpen(mesh, one.account, effectOf, mark, signal); // RW2
      const { account } = one;
      const calls = callsOf(saga, account, effectOf);
      return { ...one, calls, isOpen: account.open.size > 0, handOn: openCalls(account) };
    },
    { signal },
  );
  const ahead = looked.flatMap(({ saga, stand, what }): SagaAhead[] => {
    const named = heldAgainst(stand, { mentions: mentions.of(saga) }).map((finding) => finding.what);
    const all = [...what, ...named].slice(0, toldMax);
    return all.length === 0 ? [] : [{ saga, turns: stand.turns, what: all }];
  });
  return { sagas: sagas.length, looked, ahead };
}

/** Undefined for one that was archived. The snapshot is read first: its turn was on the ledger before it was written. */
async function lookAt({ ports, clock }: ClientMesh, config: Config, saga: SagaId, mentions: Mentions) {
  const found = await readSnapshot({ ports, clock }, saga);
  const last = await lastTurnOf(ports, saga);
  if (last === undefined || isTombstone(last)) return undefined;
  const { links } = await readChain(ports, saga, emptyHead, last.seq);
  const turns = (await turnsOf(ports, links)).map(({ turn }) => turn);
  const standing = createStand(saga);
  for (const [k, turn] of turns.entries()) {
    mentions.take(turn);
    standing.take(turn, links[k]?.head.hash ?? "");
    await ports.loop.breathe();
  }
  const full = standing.stand();
  const beside = await besideLedger({ ports, clock, archives: undefined }, full);
  const what = heldAgainst(full, beside).map((finding) => finding.what);
  const stand = { ...full, hashes: [], keys: new Set<string>(), children: new Set<SagaId>() }; // A mention in a ledger has no hash.
  const snapshot = isAhead(found?.snapshot, links) ? found?.snapshot : undefined;
  return { saga, stand, what, account: accountOf(turns), snapshot };
}

const isAhead = (snapshot: Snapshot | undefined, links: readonly Link[]): boolean =>
  snapshot !== undefined && isBeyond(snapshot.head, links);

type EffectOf = (contract: string) => Effect | undefined;

const callsOf = (saga: SagaId, account: Account, effectOf: EffectOf): RestoredCall[] =>
  openEffects(account).map(({ intent: { id: intent, name: tool, contract }, attempt }) => ({
    ...{ saga, intent, tool, attempt, becomes: becoming[effectOf(contract) ?? "once"] },
  }));

const becoming: Readonly<Record<Effect, RestoredCall["becomes"]>> = {
  read: "read",
  idempotent: "again",
  probe: "probed",
  once: "in_doubt",
};

/** So that no process of a former version, which heeds no mark, performs what is open. */
async function claimOpen(
  { ports, clock }: ClientMesh,
  account: Account,
  effectOf: EffectOf,
  mark: RestoreMark,
  signal: AbortSignal,
): Promise<void> {
  const claims = openEffects(account).flatMap(({ intent: { key, contract }, attempt }) =>
    claimsFor({ key, from: attempt, attempt }, effectOf(contract)),
  );
  await eachOf(claims, atOnce, ({ key, attempt }) =>
    patiently(clock, () => ports.claims.create(key, attempt, askedHolder(mark)), { signal }),
  );
}

/** Looks once more: a host may be running, and a leader have been deposed. */
async function noteAhead({ ports, clock }: ClientMesh, saga: SagaId, snapshot: Snapshot): Promise<void> {
  const last = await patiently(clock, () => ports.ledger.last(saga));
  const { links } = await patiently(clock, () => readChain(ports, saga, emptyHead, last?.seq ?? 0));
  if (!isAhead(snapshot, links)) return;
  const { head, state } = snapshot;
  const known = { head, state, definition: undefined, by: "its snapshot" };
  await noteBeyond({ ports, clock, log: silentLog }, saga, known);
}
