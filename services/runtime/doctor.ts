/**
 * Doctor: looks at a mesh and says what is wrong, each with what to do.
 *
 * DX1 It changes nothing: a server without a mesh is a finding, not something to be filled.
 * DX2 What cannot be reached or read is a finding too, and everything else is still told: a doctor is called when
 *     things are broken.
 * DX3 What a change of hosts makes look wrong for a moment is looked at again before it is said, and so is a stream that
 *     went while sagas were read.
 */
import type { DoctorDocument, Finding } from "../../protocol/documents/doctor.ts";
import { describeError, isMeshError, type MeshError } from "../../protocol/errors.ts";
import { trustKey } from "../../protocol/trust.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { readRegistry, viewingBy } from "../client/registry.ts";
import { shown } from "../client/trust.ts";
import { livingAmong } from "../deployments/served.ts";
import { trustingOf } from "../ledger/trust.ts";
import { checkServer, dial } from "../nats/connection.ts";
import { isWithoutStream } from "../nats/errors.ts";
import { type Examination, examineMesh } from "../nats/examine.ts";
import { type Config, redactUrl } from "./config.ts";
import { agesOf } from "./doctor/ages.ts";
import { contractsOf } from "./doctor/contracts.ts";
import { durabilityOf } from "./doctor/durability.ts";
import { deploymentsOf } from "./doctor/deployments.ts";
import type { AboutServer } from "./doctor/finding.ts";
import { isPassing, judge } from "./doctor/findings.ts";
import { lettersByCode } from "./doctor/letters.ts";
import { hostsOf, pausesOf } from "./doctor/entries.ts";
import { oldestOf } from "./doctor/oldest.ts";
import { storageOf } from "./doctor/storage-findings.ts";
import { waitsOf } from "./doctor/waits.ts";
import { aheadAmong } from "./examine-ahead.ts";
import { parkedAmong } from "./examine-parked.ts";
import { lookingIn, type Looking, orphanedAfterMs, orphanedAmong, type Quiet } from "./examine-sagas.ts";
import { schedulesAmong } from "./examine-schedules.ts";
import { openServer } from "./mesh.ts";
import { systemClock } from "./system.ts";

/** A partition moves within two beats of its hosts, a worker asks anew every few seconds. */
const lookAgainMs = 800;
const looksMax = 4;

const nothing: DoctorDocument = {
  ok: false,
  streams: [],
  hosts: [],
  partitions: [],
  tools: [],
  storage: [],
  paused: [],
  definitions: [],
  deadLetters: 0,
  deadByCode: [],
  durability: [],
  findings: [],
};

export interface ExamineOptions {
  /** Monitoring endpoints of servers, `http://host:8222`: only these tell how a server syncs. */
  readonly monitors?: readonly string[] | undefined;
  /** Looks into the ledgers of all sagas, whatever the listing says of them. False unless given. */
  readonly deep?: boolean | undefined;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Examines the mesh. What cannot be reached is a finding; nothing is thrown for it. */
export async function examine(config: Config, options: ExamineOptions): Promise<DoctorDocument> {
  const { servers, serverDir } = config;
  try {
    await using server = await openServer({ servers, dataDir: serverDir, mustExist: true, ...options });
    const nc = await dial({ servers: server.url.split(","), name: "sagamesh doctor", ...options });
    try {
      const refusal = refusalOf(() => checkServer(nc));
      const about = {
        url: redactUrl(server.url),
        embedded: servers === undefined,
        startedToLook: server.embedded?.started === true,
        info: nc.info,
      };
      const embeddedIn = servers === undefined ? serverDir : undefined;
      const durability = (examined: Examination) =>
        durabilityOf(examined, {
          serverDir: embeddedIn,
          serverId: nc.info?.server_id,
          connectedTo: nc.getServer(),
          monitors: options.monitors,
        });
      let document = nothing;
      const foreign = new Map<SagaId, number>();
      let quiet: Quiet | MeshError | undefined; // ZS1 of examine-sagas.ts
      let orphaned: Sagas["orphaned"];
      let ahead: Sagas["ahead"];
      let parked: Sagas["parked"];
      let schedules: Sagas["schedules"];
      for (let look = 1; look <= looksMax; look++) {
        const examined = await examineMesh(nc);
        const looking = lookingIn(nc, examined, { isDeep: options.deep === true, ...options });
        const quietSince = examined.now - orphanedAfterMs;
        if (quiet === undefined) {
          quiet = await looking.quiet({ quietSince, foreign }).catch(asMeshError);
          if (!isMeshError(quiet)) {
            orphaned = await orphanedAmong(nc, examined, quiet).catch(asMeshError);
            ahead = await aheadAmong(nc, examined, quiet).catch(asMeshError);
            parked = await parkedAmong(nc, examined).catch(asMeshError);
            schedules = await schedulesAmong(nc, examined, looking).catch(asMeshError);
          }
        }
        const sagas = { refusal, looking, quiet, orphaned, ahead, parked, schedules, foreign };
        const storage = await storageOf(examined, { nc, ...options, serverDir: embeddedIn });
        document = await describeMesh(examined, about, await durability(examined), { ...sagas, storage });
        const isTorn = [quiet, orphaned, ahead, parked, schedules].some(isWithoutStream);
        if (isTorn) quiet = undefined;
        if (look === looksMax || !(isTorn || document.findings.some(isPassing))) break;
        await systemClock.sleep(lookAgainMs, options.signal); // DX3
      }
      return document;
    } finally {
      await nc.close();
    }
  } catch (error) {
    if (!isMeshError(error)) throw error;
    return { ...nothing, findings: [findingOf(error)] };
  }
}

/** DX2. Throws what is none. */
function asMeshError(error: unknown): MeshError {
  if (isMeshError(error)) return error;
  throw error;
}

const findingOf = (error: MeshError): Finding => ({
  severity: "wrong",
  code: error.code,
  what: describeError(error).replace(/^\[\w+\] /, ""),
  remedy: error.remedy,
});

function refusalOf(check: () => void): Finding | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (!isMeshError(error)) throw error;
    return findingOf(error);
  }
}

interface Sagas {
  readonly looking: Looking;
  /** Those without a turn for a while. */
  readonly quiet: Quiet | MeshError;
  readonly orphaned: DoctorDocument["orphaned"] | MeshError;
  readonly ahead: DoctorDocument["ahead"] | MeshError;
  readonly parked: DoctorDocument["parked"] | MeshError;
  readonly schedules: DoctorDocument["schedules"] | MeshError;
  /** How many messages on a ledger are no turns. */
  readonly foreign: ReadonlyMap<SagaId, number>;
}

async function describeMesh(
  examined: Examination,
  about: AboutServer,
  durability: Awaited<ReturnType<typeof durabilityOf>>,
  {
    refusal,
    storage,
    looking,
    quiet,
    orphaned,
    ahead,
    parked,
    schedules,
    foreign,
  }: Sagas & Pick<DoctorDocument, "storage"> & { refusal: Finding | undefined },
): Promise<DoctorDocument> {
  const { health } = examined;
  const registered = await readRegistry({ list: async () => [...(examined.registry ?? [])] });
  const { definitions } = registered;
  const hosts = hostsOf(examined);
  let isMore = false;
  const looked = await deploymentsOf(examined, definitions, async (isOne) => {
    const { living, more } = await looking.under(definitions.filter(isOne), isOne);
    isMore = more;
    return living;
  }).catch(asMeshError);
  const deployments = isMeshError(looked) ? undefined : looked;
  const document: DoctorDocument = {
    ...nothing,
    ...serverOf(about),
    ...(health?.clockOffsetMs === undefined ? {} : { clockOffsetMs: health.clockOffsetMs }),
    streams: (health?.streams ?? []).map((stream) => ({
      name: stream.name,
      messages: stream.messages,
      bytes: stream.bytes,
      replicas: stream.replicas,
      ...faultOf(stream),
      ...(stream.leader === undefined ? {} : { leader: stream.leader }),
      peers: [...stream.peers],
    })),
    hosts,
    partitions: partitionsOf(examined, hosts),
    tools: contractsOf(examined, registered),
    storage,
    paused: pausesOf(examined),
    definitions: definitions.map(({ kind, name, version, hash }) => ({ kind, name, version, hash })),
    ...(deployments === undefined ? {} : { deployments }),
    ...waitsIn(examined, quiet, viewingBy(registered).signalsOf),
    ...standingIn({ quiet, orphaned, ahead, parked, schedules }, isMore),
    ...foreignIn(foreign),
    ...trustIn(examined),
    deadLetters: health?.streams.find((one) => one.name === "DEAD")?.messages ?? 0,
    deadByCode: lettersByCode(examined.letters ?? []),
    durability: durability.sentences,
  };
  const findings = [
    ...(refusal === undefined ? [] : [refusal]),
    ...examined.failures.filter((failure) => failure.code !== refusal?.code).map(findingOf),
    ...firstOf([looked, quiet, orphaned, ahead, parked, schedules]),
    ...judge(document, examined, about, durability),
  ];
  return { ...document, findings, ok: findings.every((one) => one.severity !== "wrong") };
}

const serverOf = ({ url, embedded, info }: AboutServer): Pick<DoctorDocument, "server"> =>
  info === undefined
    ? {}
    : {
        server: {
          ...{ url, version: info.version, apiLevel: info.api_lvl ?? 0, embedded, name: info.server_name },
          ...(info.cluster === undefined ? {} : { cluster: info.cluster }),
        },
      };

const partitionsOf = (
  { health, inbox, now }: Examination,
  hosts: DoctorDocument["hosts"],
): DoctorDocument["partitions"] =>
  (health?.partitions ?? [])
    .filter((one) => !one.missing)
    .map(({ name, waiting, held, redelivered, pulled }) => {
      const owner = hosts.find((one) => one.partitions.includes(Number(name)));
      return {
        ...{ partition: Number(name), waiting, held, redelivered, consumed: pulled },
        ...(owner === undefined ? {} : { host: owner.host }),
        ...agesOf(inbox.get(name), now),
        ...oldestOf(inbox.get(name)),
      };
    })
    .sort((a, b) => a.partition - b.partition);

/** What is said of trust, and how far the hosts are. */
function trustIn({ registry, hosts }: Examination): Pick<DoctorDocument, "trust"> {
  const entry = registry?.find(({ key }) => key === trustKey);
  if (entry === undefined) return {};
  const living = livingAmong((hosts ?? []).map(({ key, data }) => ({ host: key, data })));
  return { trust: shown(trustingOf({ data: entry.data, revision: 1 }), living) };
}

/** Sagas that are named. */
const foreignNamedMax = 5;

function foreignIn(foreign: ReadonlyMap<SagaId, number>): Pick<DoctorDocument, "foreign"> {
  if (foreign.size === 0) return {};
  const most = [...foreign].sort(([, a], [, b]) => b - a);
  const messages = most.reduce((sum, [, count]) => sum + count, 0);
  return {
    foreign: { messages, sagas: most.length, some: most.slice(0, foreignNamedMax).map(([saga]) => saga) },
  };
}

/** What keeps one from being read keeps all: it is said once. */
const firstOf = (all: readonly unknown[]): Finding[] =>
  all.flatMap((one) => (isMeshError(one) ? [findingOf(one)] : [])).slice(0, 1);

const standingIn = (
  {
    quiet,
    orphaned,
    ahead,
    parked,
    schedules,
  }: Pick<Sagas, "quiet" | "orphaned" | "ahead" | "parked" | "schedules">,
  isMore: boolean,
): Pick<DoctorDocument, "looked" | "orphaned" | "ahead" | "parked" | "schedules" | "unreadable"> => ({
  ...(isMeshError(quiet) ? {} : { looked: { ...quiet.looked, more: quiet.looked.more || isMore } }),
  ...(isMeshError(schedules) || schedules === undefined ? {} : { schedules }),
  ...(isMeshError(parked) || parked === undefined ? {} : { parked }),
  ...(isMeshError(ahead) || ahead === undefined ? {} : { ahead }),
  ...(isMeshError(orphaned) || orphaned === undefined ? {} : { orphaned }),
  ...(isMeshError(quiet) || quiet.living.unreadable.length === 0
    ? {}
    : { unreadable: [...quiet.living.unreadable] }),
});

const waitsIn = (
  { registry, health, now }: Examination,
  quiet: Sagas["quiet"],
  signalsOf: Parameters<typeof waitsOf>[2],
): Pick<DoctorDocument, "waits"> =>
  registry === undefined || health === undefined || isMeshError(quiet)
    ? {}
    : {
        waits: waitsOf(
          quiet.living.filter(({ updatedAt }) => updatedAt < now - limits.signalAwaitedMs),
          now,
          signalsOf,
        ),
      };

function faultOf(stream: NonNullable<Examination["health"]>["streams"][number]): { fault?: string } {
  if (stream.state === "missing") return { fault: "it is missing" };
  if (stream.state === "silent") return { fault: stream.why ?? "it does not answer" };
  const [first] = stream.differences;
  return first === undefined ? {} : { fault: `${first.field}: expected ${first.expected}, got ${first.got}` };
}
