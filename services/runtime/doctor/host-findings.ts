/** What is wrong with hosts and what they hold. Pure. */
import type { DoctorDocument, Finding } from "../../../protocol/documents/doctor.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Judge, of, orFine, warning, wrong } from "./finding.ts";

export const judgeHosts: Judge = ({ hosts: all, partitions }, { hosts: read, health }) => {
  if (read === undefined) return [];
  const serving = all.filter((host) => !host.draining);
  if (serving.length === 0)
    return [
      wrong(
        "NO_HOST",
        all.length === 0
          ? "no host is running: nothing is decided"
          : "every host that is running drains: nothing is decided once they are gone",
        "Start one: `sagamesh host --app FILE`, or `sagamesh up --app FILE`.",
      ),
      ...stuckLeases(partitions),
    ];
  const orphans = partitions.filter((one) => one.host === undefined);
  const silent = partitions.filter(
    (one) => one.host !== undefined && !one.consumed && one.held < limits.inFlightPerPartitionMax,
  );
  const unread = all.filter((host) => host.since === undefined).map(({ host }) => host);
  const findings = [
    ...stuckLeases(orphans),
    ...(orphans.length === 0
      ? []
      : [
          wrong(
            "NO_OWNER",
            `no host has taken up partition ${numbersOf(orphans)}`,
            "Partitions move within 3 s when a host comes or goes. If it stays so, read the hosts' logs.",
          ),
        ]),
    ...(silent.length === 0
      ? []
      : [
          wrong(
            "NOT_CONSUMED",
            `partition ${numbersOf(silent)} is held by ${[...new Set(silent.map((one) => one.host))].join(", ")}, who asks for none of its inputs`,
            "That host hangs or has lost its server: look at its /readyz and log, and restart it.",
          ),
        ]),
    ...partitions
      .filter(({ partition }) => serving.filter((host) => host.partitions.includes(partition)).length > 1)
      .map(({ partition }) =>
        warning(
          "TWO_OWNERS",
          `partition ${partition} is held by more than one host`,
          "Nothing is done twice, only slower. It ends by itself within seconds.",
        ),
      ),
    ...(unread.length === 0
      ? []
      : [
          warning(
            "HOST_UNREADABLE",
            `what ${unread.join(", ")} says of itself cannot be read here`,
            "It is of another version: run doctor of the newer one, and finish the upgrade.",
          ),
        ]),
  ];
  return orFine(
    findings,
    "HOSTS",
    `${serving.length} host${serving.length === 1 ? " holds" : "s hold"} all ${health?.partitions.length ?? 0} partitions`,
  );
};

/** What they would have said is known to nobody: the next trouble of such a host has no log. */
export const judgeLogs: Judge = ({ hosts }) =>
  hosts
    .filter(({ linesLost = 0 }) => linesLost > 0)
    .map(({ host, linesLost = 0 }) =>
      warning(
        "LOG_LOST",
        `host ${host} could not write ${linesLost} line${linesLost === 1 ? "" : "s"} of its log`,
        "It works on. Free the disk that its stderr goes to, or start it anew with one that is read.",
      ),
    );

/** What is in use of a host is its own; whether others have room is what its weight says. */
export const judgeLoad: Judge = ({ hosts }) =>
  hosts
    .filter(({ draining }) => !draining)
    .flatMap(({ host, weight }) => {
      if (weight === undefined || (weight.now === weight.declared && weight.load < limits.overloaded))
        return [];
      const { declared, now, load, by } = weight;
      const course =
        now < declared
          ? `left partitions to others and goes by ${now} of its weight of ${declared}`
          : "is overloaded, and no other host has room or it was not long enough yet";
      const [used, remedy] = inUse[by];
      const what = `host ${host} ${course}: in the last half minute ${used.replace("N", String(Math.round(100 * load)))}`;
      return warning("HOST_OVERLOADED", what, remedy);
    });

/** What of a host was in use, N in a hundred, and what helps. */
const inUse = {
  loop: [
    "its event loop was at work N % of the time",
    "Start more hosts, or look at what else uses its processor.",
  ],
  hands: [
    "N % of its places for effects were taken",
    "Start more hosts, or give it more places (`--effects-max`) if what it calls can bear it.",
  ],
  pulse: [
    "its pulse was late N % of the time",
    "Look at what else uses its machine, or start hosts on others.",
  ],
} as const;

/** Held by a process that is gone, past the time of any lease. */
const stuckLeases = (partitions: DoctorDocument["partitions"]): Finding[] =>
  partitions
    .filter(
      (one) =>
        one.held > 0 && !one.consumed && (one.oldestAgeMs ?? 0) > limits.inboxAckWaitMs + limits.hostTtlMs,
    )
    .map(({ partition, held, oldestSaga, oldestAgeMs }) =>
      wrong(
        "STUCK_LEASE",
        `${held} input${held === 1 ? "" : "s"} of partition ${partition} ${held === 1 ? "is" : "are"} still leased to a host that is gone${of(oldestSaga, oldestAgeMs)}`,
        "Start a host: it gets them at once, and hands on what is open.",
      ),
    );

const numbersOf = (partitions: DoctorDocument["partitions"]): string =>
  partitions.map((one) => one.partition).join(", ");
