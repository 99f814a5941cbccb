/**
 * Doctor: looks at a mesh and says what is wrong, each with what to do.
 *
 * DX1 It changes nothing: a server without a mesh is a finding, not something to be filled.
 * DX2 What cannot be reached or read is a finding too, and everything else is still told: a doctor is called when
 *     things are broken.
 * DX3 What a change of hosts makes look wrong for a moment is looked at again before it is said.
 */
import type { DoctorDocument, Finding } from "../../protocol/documents/doctor.ts";
import { describeError, isMeshError, type MeshError } from "../../protocol/errors.ts";
import { decodeHostEntry } from "../../protocol/host-entry.ts";
import { parseInboxSubject } from "../../protocol/subjects.ts";
import { ThrottleState, throttledOf } from "../../protocol/throttle.ts";
import { readRegistry } from "../client/registry.ts";
import { checkServer, dial } from "../nats/connection.ts";
import { type Examination, examineMesh, type Oldest } from "../nats/examine.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { type Config, redactUrl } from "./config.ts";
import { durabilityOf } from "./doctor/durability.ts";
import type { AboutServer } from "./doctor/finding.ts";
import { isPassing, judge } from "./doctor/findings.ts";
import { lettersByCode } from "./doctor/letters.ts";
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
      const durability = (examined: Examination) =>
        durabilityOf(examined, {
          serverDir: servers === undefined ? serverDir : undefined,
          serverId: nc.info?.server_id,
          connectedTo: nc.getServer(),
          monitors: options.monitors,
        });
      let document = nothing;
      for (let look = 1; look <= looksMax; look++) {
        const examined = await examineMesh(nc);
        document = await describeMesh(examined, about, await durability(examined), refusal);
        if (look === looksMax || !document.findings.some(isPassing)) break;
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

async function describeMesh(
  examined: Examination,
  about: AboutServer,
  durability: Awaited<ReturnType<typeof durabilityOf>>,
  refusal: Finding | undefined,
): Promise<DoctorDocument> {
  const { health, now } = examined;
  const { info } = about;
  const { definitions } = await readRegistry({
    list: async () => [...(examined.registry ?? [])],
    put: async () => undefined,
  });
  const hosts = hostsOf(examined);
  const document: DoctorDocument = {
    ...nothing,
    ...(info === undefined
      ? {}
      : {
          server: {
            url: about.url,
            version: info.version,
            apiLevel: info.api_lvl ?? 0,
            embedded: about.embedded,
            name: info.server_name,
            ...(info.cluster === undefined ? {} : { cluster: info.cluster }),
          },
        }),
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
    partitions: (health?.partitions ?? [])
      .filter((one) => !one.missing)
      .map(({ name, waiting, held, redelivered, pulled }) => {
        const owner = hosts.find((one) => one.partitions.includes(Number(name)));
        return {
          ...{ partition: Number(name), waiting, held, redelivered, consumed: pulled },
          ...(owner === undefined ? {} : { host: owner.host }),
          ...agesOf(examined.inbox.get(name), now),
          ...sagaOf(examined.inbox.get(name)?.unacked),
        };
      })
      .sort((a, b) => a.partition - b.partition),
    tools: toolsOf(examined),
    paused: pausesOf(examined),
    definitions: definitions.map(({ kind, name, version, hash }) => ({ kind, name, version, hash })),
    deadLetters: health?.streams.find((one) => one.name === "DEAD")?.messages ?? 0,
    deadByCode: lettersByCode(examined.letters ?? []),
    durability: durability.sentences,
  };
  const findings = [
    ...(refusal === undefined ? [] : [refusal]),
    ...examined.failures.filter((failure) => failure.code !== refusal?.code).map(findingOf),
    ...judge(document, examined, about, durability),
  ];
  return { ...document, findings, ok: findings.every((one) => one.severity !== "wrong") };
}

function faultOf(stream: NonNullable<Examination["health"]>["streams"][number]): { fault?: string } {
  if (stream.state === "missing") return { fault: "it is missing" };
  if (stream.state === "silent") return { fault: stream.why ?? "it does not answer" };
  const [first] = stream.differences;
  return first === undefined ? {} : { fault: `${first.field}: expected ${first.expected}, got ${first.got}` };
}

const hostsOf = ({ hosts }: Examination): DoctorDocument["hosts"] =>
  (hosts ?? []).map(({ key, data }) => {
    const entry = decodeHostEntry(data); // A newer host may say more than we understand.
    return {
      host: key,
      partitions: entry?.partitions ?? [],
      draining: entry?.draining ?? false,
      ...(entry === undefined ? {} : { since: entry.since }),
    };
  });

/** Every tool that has a consumer or work. */
function toolsOf({ health, work, now }: Examination): DoctorDocument["tools"] {
  const served = health?.tools ?? [];
  const unserved = [...work.keys()].filter((name) => !served.some((one) => one.name === name));
  return [
    ...served.map(({ name, waiting, held, redelivered, pulled, paused }) => ({
      ...{ name, waiting, held, redelivered, workers: pulled, paused },
      ...agesOf(work.get(name), now),
    })),
    ...unserved.map((name) => {
      const { messages = 0, unacked } = work.get(name) ?? {};
      return {
        ...{ name, waiting: messages, held: 0, redelivered: 0, workers: false, paused: false },
        ...agesOf({ unacked, undelivered: unacked }, now),
      };
    }),
  ];
}

function agesOf(oldest: Oldest | undefined, now: number): { oldestAgeMs?: number; lagMs?: number } {
  const age = (message: StoredMessage) => Math.max(0, Math.round(now - message.storedAt));
  return {
    ...(oldest?.unacked === undefined ? {} : { oldestAgeMs: age(oldest.unacked) }),
    ...(oldest?.undelivered === undefined ? {} : { lagMs: age(oldest.undelivered) }),
  };
}

function sagaOf(message: StoredMessage | undefined): { oldestSaga?: string } {
  if (message === undefined) return {};
  try {
    return { oldestSaga: parseInboxSubject(message.subject).saga };
  } catch {
    return {}; // It names no saga: its host will set it aside.
  }
}

const pausesOf = ({ throttles }: Examination): DoctorDocument["paused"] =>
  (throttles ?? []).flatMap(({ key, data }) => {
    const what = throttledOf(key);
    const paused = pauseIn(data);
    return what === undefined || paused === undefined ? [] : [{ ...what, ...paused }];
  });

function pauseIn(data: Uint8Array): ThrottleState["paused"] {
  try {
    return ThrottleState.parse(JSON.parse(Buffer.from(data).toString())).paused;
  } catch {
    return undefined; // Not one that a process would read either.
  }
}
