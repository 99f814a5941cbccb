/** What is wrong with streams, their copies and their consumers. Pure. */
import type { Finding } from "../../../protocol/documents/doctor.ts";
import { limits } from "../../../protocol/limits.ts";
import { buckets, isLedgerStream, streams } from "../../../protocol/subjects.ts";
import type { ConsumerHealth, StreamHealth } from "../../nats/health.ts";
import { type Fault, lostWith, meaningOf, remedyOf, restoredOf } from "../../nats/identity.ts";
import { bucketStream } from "../../nats/streams.ts";
import { type Judge, orFine, warning, wrong } from "./finding.ts";

export const judgeStreams: Judge = (_document, { health, standing, now }) => {
  const all = health?.streams ?? [];
  const faults = standing?.faults ?? [];
  const told = new Set(faults.map(({ stream }) => stream));
  const others = all.filter(({ name }) => !told.has(name));
  return orFine(
    [
      ...faults.map(faultFinding),
      ...(standing?.shortLedger === undefined ? [] : [shortFinding(standing.shortLedger)]),
      ...others.flatMap((one) => streamFindings(one, standing?.isInUse === true)),
      ...all.flatMap((one) => remadeFindings(one, now)),
      ...restoredFindings(all),
      ...peerFindings(all),
      ...replicaFindings(all),
    ],
    "STREAMS",
    `${all.length} streams are there and as declared`,
  );
};

/** What hosts and workers do not begin beside. */
const faultFinding = (fault: Fault): Finding =>
  wrong(
    fault.kind === "foreign" ? "MESH_MIXED" : "MESH_INCOMPLETE",
    `stream ${fault.stream} ${fault.what}. ${fault.kind === "foreign" ? "" : `${meaningOf(fault)} `}No host and no worker starts beside it, and those that run begin nothing that needs it.`,
    remedyOf(fault),
  );

/** As long as calls are asked about, people have more to do than they need. */
const restoredFindings = (all: readonly StreamHealth[]): Finding[] => {
  const mark = restoredOf(all.flatMap(({ seen }) => seen ?? []));
  return mark === undefined
    ? []
    : [
        warning(
          "RESTORED",
          `the store was put back at ${new Date(mark.at).toISOString()}: the first attempt of each \`once\` call of a saga begun before ${new Date(mark.until).toISOString()} is in doubt`,
          "See `sagamesh tasks`. When it is known what was done outside and lost, `sagamesh restored --settled` ends it.",
        ),
      ];
};

const shortFinding = ({ stream, what }: Fault): Finding =>
  wrong(
    "STREAM_SHORT",
    `stream ${stream} ${what}: turns that were acknowledged are gone. Hosts and workers that start now wait`,
    "`sagamesh restored` names the sagas whose ledgers end before what their snapshots, claims, parents and children know of, and what may have begun; with --yes all goes on.",
  );

/** For as long as a signal's repeats are known, somebody may miss what was lost. */
const remadeFindings = ({ name, seen }: StreamHealth, now: number): Finding[] =>
  seen?.remadeAt === undefined || now - seen.remadeAt > limits.signalHorizonMs
    ? []
    : [
        warning(
          "STREAM_REMADE",
          `stream ${name} was gone and was made anew at ${new Date(seen.remadeAt).toISOString()}. With it went ${lostWith[name] ?? "what it held"}`,
          "Find out who removed it. What was not taken must be sent again by those who sent it.",
        ),
      ];

function streamFindings(
  { name, state, why, differences, leader, replicas }: StreamHealth,
  isInUse: boolean,
): Finding[] {
  const stream = `stream ${name}`;
  if (state === "missing") {
    const lost = isInUse ? lostWith[name] : undefined;
    return [
      lost === undefined
        ? wrong("STREAM_MISSING", `${stream}: it is missing`, "Start a host; it makes what is missing.")
        : wrong(
            "STREAM_MISSING",
            `${stream}: it is missing, and with it ${lost}`,
            "Restore it before a host or a worker is started, which makes it anew, and empty.",
          ),
    ];
  }
  if (state === "silent")
    return [
      wrong(
        "STREAM_SILENT",
        `${stream}: ${why ?? "it does not answer"}`,
        "A cluster needs more than half of the stream's servers: bring them back.",
      ),
    ];
  const findings = differences.map(({ field, expected, got }) => {
    const what = `${stream}: ${field}: expected ${expected}, got ${got}`;
    return isQueueLimit(name, field)
      ? wrong(
          "STREAM_LIMITED",
          what,
          `It throws away acked inputs and armed timers before anything else. Take the limit off: \`nats stream edit ${name}\`.`,
        )
      : wrong(
          "STREAM_DRIFT",
          what,
          `Correct it with \`nats stream edit ${name}\`; a host that starts now refuses it.`,
        );
  });
  if (replicas > 1 && leader === undefined)
    findings.push(
      wrong(
        "STREAM_LEADERLESS",
        `${stream}: no server leads it`,
        "Bring back more than half of its servers.",
      ),
    );
  return findings;
}

/** One finding a server: it holds copies of most streams, and what to do is the same for all. */
function peerFindings(all: readonly StreamHealth[]): Finding[] {
  const streamsOf = (is: (peer: StreamHealth["peers"][number]) => boolean) => {
    const servers = new Map<string, string[]>();
    for (const { name, peers } of all)
      for (const { server } of peers.filter(is)) servers.set(server, [...(servers.get(server) ?? []), name]);
    return [...servers];
  };
  return [
    ...streamsOf((peer) => peer.offline).map(([server, names]) =>
      wrong(
        "STREAM_DEGRADED",
        `server ${server} is away, with its copies of ${names.join(", ")}: one more loss may stop them`,
        "Bring the server back; what it missed is copied to it by itself.",
      ),
    ),
    ...streamsOf((peer) => !peer.offline && !peer.current).map(([server, names]) =>
      warning(
        "STREAM_BEHIND",
        `server ${server} lags behind with its copies of ${names.join(", ")}`,
        "Wait; if it stays so, look at that server's disk and log.",
      ),
    ),
  ];
}

const isQueueLimit = (name: string, field: string): boolean =>
  (name === streams.inbox || name === streams.work) && /^max_(age|msgs|bytes|msgs_per_subject)$/.test(field);

function replicaFindings(all: readonly StreamHealth[]): Finding[] {
  const copies = (name: string) => all.find((one) => one.name === name && one.state === "there")?.replicas;
  const ledger = copies(streams.ledger);
  if (ledger === undefined) return [];
  return all.flatMap(({ name, state, replicas }) => {
    if (state !== "there" || replicas >= ledger) return [];
    const what = `stream ${name} has ${replicas} cop${replicas === 1 ? "y" : "ies"}, LEDGER ${ledger}`;
    const remedy = `\`nats stream edit ${name} --replicas ${ledger}\`: a mesh survives what its weakest stream survives.`;
    // A claim that is lost lets a `once` be performed again, an input that is lost was promised.
    return [
      promised.has(name) || isLedgerStream(name)
        ? wrong("REPLICAS_DIFFER", what, remedy)
        : warning("REPLICAS_DIFFER", what, remedy),
    ];
  });
}

const promised: ReadonlySet<string> = new Set([streams.inbox, streams.work, bucketStream(buckets.claim)]);

export const judgeConsumers: Judge = (_document, { health }) => [
  ...(health?.partitions ?? []).flatMap((one) => consumerFindings(`partition ${one.name}`, one)),
  ...(health?.tools ?? []).flatMap((one) => consumerFindings(`tool ${one.name}`, one)),
];

function consumerFindings(whose: string, { missing, differences }: ConsumerHealth): Finding[] {
  if (missing)
    return [
      wrong(
        "CONSUMER_MISSING",
        `the consumer of ${whose} is missing: no host can take its inputs`,
        "Start a host; it makes what is missing.",
      ),
    ];
  return differences.map(({ field, expected, got }) =>
    wrong(
      "CONSUMER_DRIFT",
      `the consumer of ${whose}: ${field}: expected ${expected}, got ${got}`,
      "Correct it with `nats consumer edit`, or remove it and start a host: no message is lost by that.",
    ),
  );
}
