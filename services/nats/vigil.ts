/**
 * Vigil: whether LEDGER and the claims are still the streams that this process began on.
 *
 * Owns: the marks, the highest sequence of each that this process knows of, and looking. Does not own: the judgement
 * (identity.ts).
 *
 * NV1 While one of them is gone, is another mesh's or nobody's, or has forgotten what this process knows it held, nothing is
 *     stored in it from here: MESH_INCOMPLETE. It passes by itself once the stream is the mesh's own and either has all that
 *     it had or was made anew by a person's word, which raises its generation.
 * NV2 What is acknowledged with a sequence that stood there before it was sent was stored in a stream that had forgotten. It is
 *     refused although it is stored: nothing may follow from it.
 * NV3 One look decides nothing but that all is well: a server that leads no more may lack a stream, or its end.
 */
import { describeError, MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { Ack } from "../wire/ports.ts";
import type { RestoreMark } from "../wire/restored.ts";
import { keepCensus } from "./census.ts";
import { found } from "./declare.ts";
import type { Homes } from "./homes.ts";
import {
  claimStream,
  countedIn,
  type Fault,
  guardedOf,
  meaningOf,
  remedyOf,
  restoredOf,
  type Seen,
  seenOf,
} from "./identity.ts";
import type { Made } from "./make.ts";
import type { Report } from "./progress.ts";
import type { ReadContext } from "./read.ts";
import { findStreams, readShards } from "./shards.ts";

/** A look that found a fault is made again this soon, and so is one while there is a fault. */
const lookAgainMs = 1_000;
/** Looks in a row that must find it (NV3): longer than a server goes on that leads no more and was told so. */
const looksToBelieve = 3;

/** What stands between this process and a guarded stream. */
export interface Vigil {
  /** Stores in the stream, or throws MESH_INCOMPLETE (NV1, NV2). */
  storing(stream: string, store: () => Promise<Ack>): Promise<Ack>;
  /** What is wrong now. */
  fault(): MeshError | undefined;
  /** What was last said of a restore. */
  restored(): RestoreMark | undefined;
  /** Looks no more. */
  stop(): void;
}

interface Mark {
  created: string;
  generation: number;
  lastSeq: number;
  /** Looks in a row that found something wrong, and what the last found. */
  wrong: number;
  fault: Fault | undefined;
  restored: RestoreMark | undefined;
}

const markOf = ({ created, generation, lastSeq, restored }: Seen): Mark => ({
  ...{ created, generation, lastSeq, restored },
  ...{ wrong: 0, fault: undefined },
});

/** What writes to a guarded stream may have one. */
export interface Watched {
  readonly vigil?: Vigil | undefined;
}

/** What it is kept with; what it learns of the mesh's shards it tells. */
type VigilContext = ReadContext & { readonly homes: Homes };

/** Begins it. It looks by itself as long as `stop` was not called; a process is not kept running by it. */
export function keepVigil(context: VigilContext, made: Made, report: Report): Vigil {
  const marks = new Map<string, Mark>();
  for (const seen of made.seen) marks.set(seen.name, markOf(seen));
  const self: State = { ...{ context, made, report, marks, isStopped: false }, ...nothingYet };
  arm(self);
  return {
    storing: async (stream, store) => {
      const mark = marks.get(stream);
      if (mark === undefined) return store();
      if (mark.fault !== undefined) throw incompleteOf(mark.fault);
      const { lastSeq, generation } = mark;
      const ack = await store();
      if (ack.duplicate) return ack;
      if (ack.seq > lastSeq || mark.generation > generation) {
        if (ack.seq > mark.lastSeq) mark.lastSeq = ack.seq;
        return ack;
      }
      believe(self, mark, forgotten(stream, ack.seq, lastSeq)); // NV2
      arm(self);
      throw incompleteOf(mark.fault ?? forgotten(stream, ack.seq, lastSeq));
    },
    fault: () => {
      const faults = [...marks.values()].flatMap(({ fault }) => fault ?? []);
      return faults[0] && incompleteOf(faults[0]);
    },
    restored: () => restoredOf([...marks.values()]),
    stop: () => {
      self.isStopped = true;
      clearTimeout(self.timer);
    },
  };
}

interface State {
  readonly context: VigilContext;
  readonly made: Made;
  readonly report: Report;
  readonly marks: Map<string, Mark>;
  isStopped: boolean;
  timer: NodeJS.Timeout | undefined;
  looking: Promise<void> | undefined;
  /** By this process's clock, when it last saw to the census. */
  countedAt: number;
}

const nothingYet = { timer: undefined, looking: undefined, countedAt: Number.NEGATIVE_INFINITY };

const forgotten = (stream: string, seq: number, lastSeq: number): Fault => ({
  ...{ stream, kind: "short" },
  what: `goes up to message ${seq}, and went up to ${lastSeq} for this process`,
});

const incompleteOf = (fault: Fault): MeshError =>
  new MeshError("MESH_INCOMPLETE", `stream ${fault.stream} ${fault.what}. ${meaningOf(fault)}`, {
    remedy: remedyOf(fault),
  });

/** Looks in a while, and then again and again; sooner where something is wrong. */
function arm(self: State): void {
  clearTimeout(self.timer);
  if (self.isStopped) return;
  const isWrong = [...self.marks.values()].some(({ wrong, fault }) => wrong > 0 || fault !== undefined);
  const delayMs = isWrong ? lookAgainMs : limits.vigilEveryMs;
  self.timer = setTimeout(() => void look(self).finally(() => arm(self)), delayMs).unref();
}

function believe({ report }: State, mark: Mark, fault: Fault): void {
  const isNews = mark.fault === undefined;
  mark.fault = fault;
  const error = incompleteOf(fault);
  if (isNews) report(`${describeError(error)} ${error.remedy}`);
}

/** One at a time. */
const look = (self: State): Promise<void> =>
  (self.looking ??= lookNow(self)
    .catch(() => undefined) // Not answered: nothing is known, and the next look comes.
    .finally(() => (self.looking = undefined)));

async function lookNow(self: State): Promise<void> {
  const { marks } = self;
  for (const [stream, mark] of marks) {
    const fault = await faultOf(self, stream, mark);
    mark.wrong = fault === undefined ? 0 : mark.wrong + 1;
    if (fault !== undefined && mark.wrong >= looksToBelieve) believe(self, mark, fault);
    if (fault === undefined && mark.fault !== undefined) {
      self.report(`stream ${stream} is whole again`);
      mark.fault = undefined;
    }
  }
  for (const name of guardedOf(await self.context.homes.shards())) {
    if (marks.has(name)) continue; // But for a shard that was added since.
    const info = await found(`stream ${name}`, () => self.context.jsm.streams.info(name));
    if (info !== undefined) marks.set(name, markOf(seenOf(info)));
  }
  if ([...marks.values()].every(({ wrong }) => wrong === 0)) await count(self);
}

/** What is wrong with the stream now; its mark is put where the stream is if nothing is. */
async function faultOf(
  { context: { jsm, homes }, made: { mesh }, report }: State,
  stream: string,
  mark: Mark,
): Promise<Fault | undefined> {
  const known = mark.lastSeq;
  const info = await found(`stream ${stream}`, () => jsm.streams.info(stream));
  if (info === undefined) return { stream, kind: "missing", what: "is not there any more" };
  const shards = readShards(info.config.metadata);
  if (shards !== undefined) homes.learn(shards);
  const { mesh: told, created, generation, lastSeq, isRebuilding, restored } = seenOf(info);
  if (isRebuilding)
    return { stream, kind: "rebuilding", what: "is being rebuilt, and that has not come to its end" };
  if (told === undefined && created !== mark.created)
    // A host that may change no stream has marked none (identity.ts, IY2).
    return { stream, kind: "stranger", what: "is there again, but sagamesh did not make it" };
  if (told !== undefined && told !== mesh)
    return { stream, kind: "foreign", what: `is of mesh ${told} now, not of ${mesh}` };
  const isBehind = generation === mark.generation && lastSeq < known;
  if (generation < mark.generation || (isBehind && stream === claimStream))
    return forgotten(stream, lastSeq, known);
  if (isBehind) report(`stream ${stream} ${forgotten(stream, lastSeq, known).what}: its last turns are lost`);
  const isAnother = generation > mark.generation || isBehind; // A ledger without its end is judged where it is read.
  Object.assign(mark, {
    created,
    generation,
    restored,
    lastSeq: isAnother ? lastSeq : Math.max(lastSeq, mark.lastSeq),
  });
  return undefined;
}

/** Sees to the census, which is another host's to write as well. */
async function count(self: State): Promise<void> {
  const { context, made } = self;
  const now = performance.now();
  if (now - self.countedAt < limits.censusEveryMs / 2) return;
  self.countedAt = now;
  const { mesh, partitions } = made;
  const { there: infos } = await findStreams(context.jsm, made.census);
  const told = infos.find(({ ts }) => ts !== undefined)?.ts;
  const own = infos.map(seenOf).filter((one) => one.mesh === undefined || one.mesh === mesh);
  const at = told === undefined ? Date.now() : Date.parse(told);
  await keepCensus(context, { mesh, at, partitions, streams: countedIn(own) });
}
