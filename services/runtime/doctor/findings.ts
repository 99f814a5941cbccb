/**
 * Findings: what is wrong with a mesh that was looked at, and what to do. Pure.
 *
 * `wrong` is what stops sagas or breaks a promise until a person acts. `warning` works, and may not for long or as
 * well as it should. `fine` is said of each thing that was looked at, so that silence never means "not looked".
 */
import type { Finding } from "../../../protocol/documents/doctor.ts";
import { limits } from "../../../protocol/limits.ts";
import { judgeAhead } from "./ahead.ts";
import { judgeParked } from "./parked.ts";
import { judgeDeployments } from "./deployment-findings.ts";
import { fine, type Judge, warning, wrong } from "./finding.ts";
import { judgeLooked } from "./looked.ts";
import { judgeHosts, judgeLoad, judgeLogs } from "./host-findings.ts";
import { judgeOrphaned } from "./orphaned.ts";
import { judgeInputs, judgeTools } from "./queue-findings.ts";
import { judgeSchedules } from "./schedule-findings.ts";
import { judgeStorage } from "./storage-findings.ts";
import { judgeConsumers, judgeStreams } from "./stream-findings.ts";
import { judgeTrust } from "./trust-findings.ts";
import { judgeWaits } from "./waits.ts";

/** Timers are as exact as clocks agree; a minute is no timer any more. */
const skewWarnMs = 1_000;
const skewWrongMs = 60_000;

/** Everything that is to be said of the mesh; what is wrong first. */
export function judge(...looked: Parameters<Judge>): Finding[] {
  if (looked[1].health === undefined) return [];
  const findings = [
    server,
    judgeStorage,
    judgeStreams,
    judgeConsumers,
    judgeHosts,
    judgeTrust,
    judgeLogs,
    judgeLoad,
    judgeLooked,
    judgeDeployments,
    judgeSchedules,
    judgeWaits,
    judgeOrphaned,
    judgeAhead,
    judgeParked,
    unreadable,
    foreign,
    judgeInputs,
    judgeTools,
    letters,
    clock,
    disk,
  ].flatMap((judged) => judged(...looked));
  const isFull = findings.some(({ code }) => code === "STORAGE_FULL");
  const told = isFull ? findings.filter(({ code }) => !followsFromFull.has(code)) : findings;
  return severities.flatMap((severity) => told.filter((one) => one.severity === severity));
}

/** Hosts that cannot store cannot say that they live. */
const followsFromFull: ReadonlySet<string> = new Set(["NO_HOST", "NO_OWNER", "NOT_CONSUMED", "STUCK_LEASE"]);

const severities = ["wrong", "warning", "fine"] as const;

/** Whether it may be gone at the next look: partitions move, and who asks for messages asks anew. */
export const isPassing = ({ code, severity }: Finding): boolean => severity === "wrong" && passing.has(code);
const passing: ReadonlySet<string> = new Set([
  "NO_OWNER",
  "NOT_CONSUMED",
  "NO_WORKER",
  "STUCK_LEASE",
  "NO_HOST",
  "UNSERVED_SAGAS",
  "PROMOTED_UNSERVED",
]);

const server: Judge = (_document, _examined, { info, startedToLook }) => {
  const findings: Finding[] = [];
  if (startedToLook)
    findings.push(
      warning(
        "SERVER_NOT_RUNNING",
        "no server ran for this data folder; doctor started one to look, and stops it again",
        "Nothing to do if nothing should run; else `sagamesh up --app FILE`.",
      ),
    );
  if (info?.cluster !== undefined && info.jetstream !== true)
    findings.push(
      wrong(
        "SERVER_WITHOUT_JETSTREAM",
        `server ${info.server_name} of cluster ${info.cluster} has no JetStream: it was started without, or has switched it off, as a server does whose disk is full`,
        "If its disk is full, free space there, and restart that server; the others go on as long as they are a majority.",
      ),
    );
  const needed = limits.messageBytesMax + 16 * 1024;
  if (info !== undefined && info.max_payload < needed)
    findings.push(
      wrong(
        "PAYLOAD_TOO_SMALL",
        `the server takes messages of ${info.max_payload} bytes, sagamesh writes up to ${needed}`,
        "Set `max_payload: 1MB` in the server's configuration, which is also its default.",
      ),
    );
  return info === undefined
    ? findings
    : [...findings, fine("SERVER", `NATS ${info.version}, API level ${info.api_lvl ?? 0}`)];
};

const letters: Judge = ({ deadLetters, deadByCode }) => {
  if (deadLetters === 0) return [fine("DEAD_LETTERS", "nothing was set aside")];
  const groups = deadByCode.map(
    ({ code, source, count, newestAt, newestSubject }) =>
      `${count} ${code} from ${source} (newest ${newestSubject} at ${new Date(newestAt).toISOString()})`,
  );
  return [
    wrong(
      "DEAD_LETTERS",
      `${deadLetters} message${deadLetters === 1 ? " was" : "s were"} set aside${groups.length === 0 ? "" : `: ${groups.join("; ")}`}`,
      "Read them with `sagamesh dead ls`; correct the cause, then `sagamesh dead retry` or `dead drop`.",
    ),
  ];
};

/** Sagas that are named of those that cannot be read. */
const someMax = 5;

const unreadable: Judge = ({ unreadable: sagas }) => {
  if (sagas === undefined) return [];
  const some = sagas.slice(0, someMax).map(({ saga, code, reason }) => `${saga} ([${code}] ${reason})`);
  return [
    wrong(
      "UNREADABLE_SAGAS",
      `${sagas.length} saga${sagas.length === 1 ? "" : "s"} cannot be read: ${some.join("; ")}${sagas.length > someMax ? "; …" : ""}`,
      "`sagamesh verify SAGA` names the turn. The other sagas go on; what this one did outside stands until it can be read.",
    ),
  ];
};

const foreign: Judge = ({ foreign: found }) => {
  if (found === undefined) return [];
  const { messages, sagas, some } = found;
  return [
    warning(
      "FOREIGN_MESSAGES",
      `${messages} message${messages === 1 ? "" : "s"} on the ledger${sagas === 1 ? "" : "s"} of ${some.join(", ")}${sagas > some.length ? ", …" : ""} ${messages === 1 ? "is no turn" : "are no turns"}: somebody else publishes there`,
      "Sagas go on. Find the writer by the server's permissions; `sagamesh repair --all` lists what there is, and removes it with --yes.",
    ),
  ];
};

const clock: Judge = ({ clockOffsetMs }) => {
  if (clockOffsetMs === undefined) return [];
  const skew = Math.abs(clockOffsetMs);
  const what = `this machine's clock is ${skew} ms ${clockOffsetMs < 0 ? "behind" : "ahead of"} the server's`;
  if (skew <= skewWarnMs) return [fine("CLOCK", what)];
  return [
    (skew > skewWrongMs ? wrong : warning)(
      "CLOCK_SKEW",
      what,
      "Let both keep time by NTP. Hosts and workers go by the server's time; this machine's logs, and tools that ask it for the time, do not.",
    ),
  ];
};

const disk: Judge = (_document, _examined, _about, { sentences, silent }) => [
  ...sentences.map((sentence) => fine("DURABILITY", sentence)),
  ...silent.map((url) =>
    warning(
      "MONITOR_SILENT",
      `no NATS server's monitoring answers at ${url}`,
      "Check --monitor, and `http_port` in the server's configuration.",
    ),
  ),
];
