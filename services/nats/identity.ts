/**
 * Identity: which mesh a stream is of, and whether the streams that are there are the whole of one mesh. Pure.
 *
 * Owns: the names in a stream's metadata, and the judgement. Does not own: making streams (declare.ts, open.ts), and the
 * rebuilding of what is gone (rebuild.ts).
 *
 * IY1 LEDGER and the claims are never taken for empty because they are not there: beside others that hold something they
 *     are missing, and are made anew only by a person's word.
 * IY2 A mesh made before streams had an identity gets one that is told from when its LEDGER was made. So any number of hosts
 *     say the same at the same time, and a host that may change no stream knows it too.
 * IY3 LEDGER is given its identity last. So one that has it says that all that was there beside it had it, and a guarded
 *     stream without one was made by another hand.
 */
import { type Census, isAtLeast } from "../../protocol/census.ts";
import { sha256 } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import { maxOf } from "../../protocol/extremes.ts";
import { oneShard, type Shards } from "../../protocol/shards.ts";
import { buckets, isLedgerStream, streams } from "../../protocol/subjects.ts";
import { readMark, type RestoreMark } from "../wire/restored.ts";
import { blobStream, bucketStream, streamNames } from "./streams.ts";

/** What a stream's metadata says of its mesh. */
export const identityKeys = {
  mesh: "sagamesh.mesh",
  generation: "sagamesh.generation",
  /** When it was made anew beside others, ISO 8601. */
  remade: "sagamesh.remade",
  /** It is being filled, and takes nothing but what fills it. */
  rebuilding: "sagamesh.rebuilding",
  /** A person said that the store was put back (services/wire/restored.ts). */
  restored: "sagamesh.restored",
} as const;

/** The stream behind the claims. */
export const claimStream = bucketStream(buckets.claim);

/** Of these an empty one in place of a full one lets effects be performed twice, or sagas be forgotten. */
export const isGuarded = (stream: string): boolean => stream === claimStream || isLedgerStream(stream);
/** All that a mesh has of them. */
export const guardedOf = (shards: Shards): string[] => streamNames(shards).filter(isGuarded);

/** What is lost with a stream that is made anew by itself; of one that is not named here nothing but time. */
export const lostWith: Readonly<Record<string, string>> = {
  [streams.inbox]: "inputs that no host had taken, and the timers that were armed",
  [streams.work]: "calls that no worker had taken",
  [streams.dead]: "what was set aside",
  [bucketStream(buckets.registry)]: "what was served and declared; hosts register again what they serve",
  [bucketStream(buckets.throttle)]: "pauses and rates that were set",
  [blobStream]: "values over 64 KiB; the sagas that need one are named as they are read",
};

/** A stream that is there. */
export interface Seen {
  readonly name: string;
  /** Undefined: it was made before streams had one, or by another hand. */
  readonly mesh: string | undefined;
  readonly generation: number;
  readonly created: string;
  readonly lastSeq: number;
  readonly messages: number;
  readonly isRebuilding: boolean;
  readonly remadeAt: number | undefined;
  readonly restored: RestoreMark | undefined;
}

/** What of a server's answer an identity is read from. */
interface StreamAnswer {
  readonly config: { readonly name: string; readonly metadata?: Record<string, string> | undefined };
  readonly created: string;
  readonly state: { readonly last_seq: number; readonly messages: number };
}

/** Reads a stream as the server tells of it. */
export function seenOf({ config, created, state }: StreamAnswer): Seen {
  const told = config.metadata ?? {};
  const remadeAt = Date.parse(told[identityKeys.remade] ?? "");
  return {
    name: config.name,
    mesh: told[identityKeys.mesh],
    generation: Number(told[identityKeys.generation] ?? 1) || 1,
    ...{ created, lastSeq: state.last_seq, messages: state.messages },
    isRebuilding: told[identityKeys.rebuilding] !== undefined,
    remadeAt: Number.isNaN(remadeAt) ? undefined : remadeAt,
    restored: readMark(told[identityKeys.restored]),
  };
}

/** What a census holds of them. */
export const countedIn = (seen: readonly Seen[]): Census["streams"] =>
  Object.fromEntries(
    seen.map(({ name, generation, lastSeq, messages }) => [name, { generation, lastSeq, messages }]),
  );

/** What is wrong with a stream as a part of its mesh. */
export interface Fault {
  readonly stream: string;
  readonly kind: "missing" | "stranger" | "foreign" | "short" | "rebuilding";
  /** What was seen, in words that follow the stream's name. */
  readonly what: string;
}

/** What the streams together say. */
export interface Standing {
  /** Undefined: there is no mesh yet that could have one. */
  readonly mesh: string | undefined;
  /** The highest of all streams. */
  readonly generation: number;
  /** What hosts and workers do not begin beside. */
  readonly faults: readonly Fault[];
  /** The first stream of ledgers that holds less than was counted: what would perform anything waits for a person's word. */
  readonly shortLedger: Fault | undefined;
  /** Others hold something, so that what is made now is made anew. */
  readonly isInUse: boolean;
}

/** That of a mesh whose LEDGER was made at this time by its server (IY2). */
export const derivedMesh = (created: string): string => sha256(created).slice(0, 16);

/** Where it says that sagas have lived here; the registry, the hosts and the throttles may be there before any has. */
const holding: ReadonlySet<string> = new Set([
  ...[streams.inbox, streams.work, streams.dead, blobStream, claimStream],
  bucketStream(buckets.snapshot),
]);
const holds = (name: string): boolean => holding.has(name) || isLedgerStream(name);

/** Judges what is there, by what was counted of it. `shards`: as many as the mesh has. */
export function standingOf(
  seen: readonly Seen[],
  census: Census | undefined,
  shards: Shards = oneShard,
): Standing {
  const ledger = seen.find(({ name }) => name === streams.ledger);
  const mesh = meshOf(seen, ledger, census);
  const ours = census?.mesh === mesh ? census : undefined;
  const isInUse =
    seen.some(({ name, lastSeq }) => holds(name) && lastSeq > 0) ||
    Object.entries(ours?.streams ?? {}).some(([name, { lastSeq }]) => holds(name) && lastSeq > 0);
  const isAdopting =
    ledger !== undefined && ledger.mesh === undefined && mesh === derivedMesh(ledger.created);
  const faults = isInUse
    ? guardedOf(shards).flatMap((name) => guardedFault(seen, name, { mesh, ours, isAdopting }))
    : [];
  const foreign = seen.flatMap((one): Fault[] =>
    one.mesh === undefined || one.mesh === mesh
      ? []
      : [{ stream: one.name, kind: "foreign", what: `is of mesh ${one.mesh}, not of ${mesh ?? "none"}` }],
  );
  return {
    ...{ mesh, isInUse },
    generation: maxOf(
      seen.map(({ generation }) => generation),
      1,
    ),
    faults: [...faults, ...foreign],
    shortLedger: seen.flatMap((one) => (isLedgerStream(one.name) ? (shortOf(one, ours) ?? []) : []))[0],
  };
}

/** The one that most streams carry, LEDGER's where as many carry another; of streams that carry none the derived one. */
function meshOf(
  seen: readonly Seen[],
  ledger: Seen | undefined,
  census: Census | undefined,
): string | undefined {
  const counts = new Map<string, number>();
  for (const { mesh } of seen) if (mesh !== undefined) counts.set(mesh, (counts.get(mesh) ?? 0) + 1);
  const [most] = [...counts].sort(
    ([a, times], [b, others]) => others - times || Number(b === ledger?.mesh) - Number(a === ledger?.mesh),
  );
  return most?.[0] ?? census?.mesh ?? (ledger && derivedMesh(ledger.created));
}

interface Judged {
  readonly mesh: string | undefined;
  readonly ours: Census | undefined;
  readonly isAdopting: boolean;
}

/** IY1. */
function guardedFault(seen: readonly Seen[], name: string, { mesh, ours, isAdopting }: Judged): Fault[] {
  const one = seen.find((stream) => stream.name === name);
  const counted = ours?.streams[name];
  const held =
    counted === undefined || ours === undefined
      ? ""
      : `; it held ${counted.messages} messages at ${new Date(ours.at).toISOString()}`;
  const fault = (kind: Fault["kind"], what: string): Fault[] => [{ stream: name, kind, what }];
  if (one === undefined) return fault("missing", `is not there${held}`);
  if (one.isRebuilding) return fault("rebuilding", "is being rebuilt, and that has not come to its end");
  if (one.mesh !== undefined && one.mesh !== mesh) return []; // Told as foreign.
  if (one.mesh === undefined && !isAdopting)
    return fault(
      "stranger",
      `is there and holds ${one.messages} messages, but sagamesh did not make it${held}`,
    );
  const short = name === claimStream ? shortOf(one, ours) : undefined;
  return short === undefined ? [] : [short];
}

function shortOf(one: Seen, census: Census | undefined): Fault | undefined {
  const counted = census?.streams[one.name];
  if (census === undefined || counted === undefined || isAtLeast(one, counted)) return undefined;
  const stood = one.generation < counted.generation ? "an earlier generation of it" : `${counted.lastSeq}`;
  return {
    ...{ stream: one.name, kind: "short" },
    what: `goes up to message ${one.lastSeq}, and went up to ${stood} at ${new Date(census.at).toISOString()}`,
  };
}

/** What was said last of a restore: of the two that carry it one may have been put back since. */
export const restoredOf = (seen: readonly Pick<Seen, "restored">[]): RestoreMark | undefined =>
  seen.flatMap(({ restored }) => restored ?? []).sort((a, b) => b.at - a.at)[0];

/** What hosts and workers that begin wait for; undefined where nothing keeps them. */
export const unsaid = ({ shortLedger }: Pick<Standing, "shortLedger">): MeshError | undefined =>
  shortLedger &&
  new MeshError(
    "MESH_RESTORED",
    `stream ${shortLedger.stream} ${shortLedger.what}: its last turns are lost, or an older copy of it was put back`,
  );

/** What hosts and workers say in place of beginning; undefined where nothing keeps them. */
export function incomplete({ faults }: Pick<Standing, "faults">): MeshError | undefined {
  const [first] = faults;
  if (first === undefined) return undefined;
  const what = faults.map((fault) => `stream ${fault.stream} ${fault.what}`).join("; ");
  if (faults.every(({ kind }) => kind === "foreign"))
    return new MeshError("MESH_MIXED", what, { remedy: foreignRemedy });
  return new MeshError("MESH_INCOMPLETE", `${what}. ${faults.map(meaningOf).join(" ")}`, {
    remedy: faults.map(remedyOf).join(" "),
  });
}

/** What it means for what is under way. */
export const meaningOf = ({ stream, kind }: Fault): string =>
  kind === "foreign"
    ? ""
    : isLedgerStream(stream)
      ? "Without it no saga is known: what they did outside stands, and is undone by nobody."
      : "Without it a `once` or `probe` call that was under way would be performed again.";

const foreignRemedy =
  "Two meshes share no account: put back the stream of this mesh, or remove the other (`nats stream rm NAME`) and start again.";

/** The ways on. */
export const remedyOf = ({ stream, kind }: Fault): string =>
  kind === "foreign"
    ? foreignRemedy
    : isLedgerStream(stream)
      ? `Restore it (\`nats stream restore\`${kind === "missing" ? "" : `, once this one is removed with \`nats stream rm ${stream}\``}). If there is no copy: \`sagamesh rebuild ledger --accept-loss\` begins an empty one.`
      : kind === "short"
        ? "Nothing is claimed beside an older copy of the claims. `sagamesh restored` says what may have begun, and with --yes nothing of it is performed again."
        : "Restore it if there is a copy from just before; else `sagamesh rebuild claims` makes it from the ledgers: each open call counts as begun, so a `once` ends in doubt, with its task, and nothing is performed twice.";
