/**
 * Evidence: what a mesh has beside a saga's ledger that names its turns (services/views/verify-evidence.ts).
 */
import { basename } from "node:path";
import { isMeshError } from "../../protocol/errors.ts";
import { type SagaId, turnOf } from "../../protocol/ids.ts";
import type { Archives } from "../archive/folder.ts";
import { readSnapshot } from "../host/snapshots.ts";
import { beyondName, readNote } from "../ledger/beyond.ts";
import { readBegun } from "../ledger/begun.ts";
import { emptyHead, readTurns } from "../ledger/reader.ts";
import { eachOf } from "../process/each-of.ts";
import {
  childrenAhead,
  createMentions,
  type Evidence,
  looksLikeChild,
  type Mention,
  type Stand,
} from "../views/verify-evidence.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";

/** What gathering takes. */
export interface EvidenceDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "snapshots" | "claims">;
  readonly clock: Clock;
  /** The folder of archives; undefined: none is looked at. */
  readonly archives: Archives | undefined;
}

/**
 * What stands beside the ledger under its own name: its snapshot, a note of what was known beyond it, claims under its keys, a file of it in the folder of
 * archives. Throws UNAVAILABLE.
 */
export async function besideLedger(deps: EvidenceDeps, { saga }: Pick<Stand, "saga">): Promise<Evidence> {
  const found = await Promise.all([
    ...[snapshotOf(deps, saga), noteOf(deps, saga), claimsOf(deps, saga), fileOf(deps, saga)],
  ]);
  return together(found.filter((one) => one !== undefined));
}

/** The same, and what other ledgers of the mesh name: its parent's, and the ids of what it started. Throws UNAVAILABLE. */
export async function besideSaga(deps: EvidenceDeps, stand: Stand): Promise<Evidence> {
  const own = await besideLedger(deps, stand);
  const parent = stand.parent === undefined ? undefined : await parentOf(deps, stand.saga, stand.parent.saga);
  const sagas = (await patiently(deps.clock, () => deps.ports.ledger.list())).map((one) => one.saga);
  const children = {
    compared: ["the ids of all sagas"],
    mentions: [...childrenAhead(stand, sagas), ...(await childrenOf(deps, stand, sagas))],
  };
  return together([own, ...(parent === undefined ? [] : [parent]), children]);
}

/** Of all, in order. */
export const together = (all: readonly Evidence[]): Evidence => ({
  compared: all.flatMap(({ compared }) => compared),
  mentions: all.flatMap(({ mentions }) => mentions),
});

async function snapshotOf(deps: EvidenceDeps, saga: SagaId): Promise<Evidence | undefined> {
  const found = await readSnapshot(deps, saga);
  if (found === undefined) return undefined;
  const { turn, hash } = found.snapshot.head;
  return { compared: [`its snapshot of turn ${turn}`], mentions: [{ where: "its snapshot", turn, hash }] };
}

/** What a host or a snapshot had of it, once its ledger had lost turns. Past that turn it says nothing: another stands there. */
async function noteOf({ ports, clock }: EvidenceDeps, saga: SagaId): Promise<Evidence | undefined> {
  const note = readNote(await patiently(clock, () => ports.snapshots.get(saga, beyondName)));
  if (note === undefined) return undefined;
  const where = `the note of what ${note.by} had of it at ${new Date(note.at).toISOString()}`;
  return { compared: [where], mentions: [{ where, turn: note.turn }] };
}

async function claimsOf({ ports, clock }: EvidenceDeps, saga: SagaId): Promise<Evidence | undefined> {
  const claims = await patiently(clock, () => ports.claims.list(saga));
  if (claims.length === 0) return undefined;
  const mentions = claims.map((claim) => ({
    where: `the claim ${claim}`,
    key: claim.slice(0, claim.lastIndexOf(".")), // The attempt follows.
  }));
  return { compared: [`${claims.length} claim${claims.length === 1 ? "" : "s"}`], mentions };
}

/** So many sagas that no turn started are asked whose children they are. */
const strangersMax = 256;

/**
 * Sagas that name this one as their parent, in their first turn, and that no turn of it started: the ids of children say
 * nothing of turns. What cannot be read says nothing here.
 */
export async function childrenOf(
  { ports, clock }: Pick<EvidenceDeps, "ports" | "clock">,
  { saga, children }: Pick<Stand, "saga" | "children">,
  sagas: readonly SagaId[],
): Promise<Mention[]> {
  const strangers = sagas.filter((one) => looksLikeChild(one) && !children.has(one)).slice(0, strangersMax);
  const found = await eachOf(strangers, 8, async (one): Promise<Mention[]> => {
    const begun = await patiently(clock, () => readBegun(ports, one)).catch((error: unknown) => {
      if (!isMeshError(error) || error.retriable) throw error;
      return undefined;
    });
    const parent = begun?.as?.parent;
    return parent?.saga === saga ? [{ where: `the child ${one}`, turn: turnOf(parent.intent) }] : [];
  });
  return found.flat();
}

async function fileOf({ archives }: EvidenceDeps, saga: SagaId): Promise<Evidence | undefined> {
  const path = await archives?.find(saga);
  if (archives === undefined || path === undefined) return undefined;
  const { sections } = await archives.examine(path, saga);
  const manifest = sections.find((one) => one.manifest?.saga === saga)?.manifest;
  const where = `the file ${basename(path)}`;
  if (manifest === undefined) return undefined;
  return { compared: [where], mentions: [{ where, turn: manifest.turns, hash: manifest.head.hash }] };
}

/** A parent that was archived, or cannot be read, says nothing here. */
async function parentOf(
  { ports, clock }: EvidenceDeps,
  saga: SagaId,
  parent: SagaId,
): Promise<Evidence | undefined> {
  const mentions = createMentions();
  try {
    const last = await patiently(clock, () => ports.ledger.last(parent));
    if (last === undefined) return undefined;
    for (const { turn } of await patiently(clock, () => readTurns(ports, parent, emptyHead, last.seq)))
      mentions.take(turn);
  } catch (error) {
    if (!isMeshError(error) || error.retriable) throw error;
    return undefined;
  }
  return { compared: [`the ledger of its parent ${parent}`], mentions: mentions.of(saga) };
}
