/** What waits too long: inputs of sagas, calls of tools. Pure. */
import type { DoctorDocument, Finding } from "../../../protocol/documents/doctor.ts";
import { limits } from "../../../protocol/limits.ts";
import { toolLabel } from "../../../protocol/tool.ts";
import { rowLabel, unaskedContracts } from "./contracts.ts";
import { type Judge, lagWarnMs, of, orFine, span, stuckMs, warning, wrong } from "./finding.ts";

const lagWrongMs = 60_000;

export const judgeInputs: Judge = ({ partitions }) => {
  const findings = partitions.flatMap((one): Finding[] => {
    const found: Finding[] = [];
    const lag = one.lagMs ?? 0;
    if (lag > lagWarnMs)
      found.push(
        (lag > lagWrongMs ? wrong : warning)(
          "INBOX_LAG",
          `${one.waiting} inputs of partition ${one.partition} wait, the oldest for ${span(lag)}`,
          "Start more hosts, up to one per partition; or find out why this one is slow: its event loop delay is in /metrics.",
        ),
      );
    if (one.redelivered > 0 && (one.oldestAgeMs ?? 0) > stuckMs)
      found.push(
        warning(
          "STUCK_INPUT",
          `${one.redelivered} inputs of partition ${one.partition} come back again and again${of(one.oldestSaga, one.oldestAgeMs)}${oldestOf(one)}`,
          remedyOf(one),
        ),
      );
    return found;
  });
  const waiting = partitions.reduce((sum, one) => sum + one.waiting, 0);
  return partitions.length === 0
    ? []
    : orFine(findings, "INBOX", `${waiting} inputs wait over ${partitions.length} partitions`);
};

type Partition = DoctorDocument["partitions"][number];

const oldestOf = ({ oldestInput, oldestSagaIs }: Partition): string => {
  if (oldestInput === undefined) return "";
  const whose = {
    begun: "",
    stored: ", and no host has taken its start",
    unknown: ", which was never started",
  };
  return `: the ${oldestInput}${oldestSagaIs === undefined ? "" : whose[oldestSagaIs]}`;
};

/** What helps depends on what its saga is: only one that has begun has a ledger that could be at fault. */
function remedyOf({ oldestSaga: saga = "SAGA", oldestSagaIs }: Partition): string {
  switch (oldestSagaIs) {
    case "unknown":
      return `\`sagamesh start NAME --input JSON --id ${saga}\` starts it, and it is taken. Else it is a dead letter after an hour, which \`sagamesh dead ls\` shows.`;
    case "stored":
      return `Run a host that serves what it starts: \`sagamesh host --app FILE\`. \`sagamesh tail ${saga}\` shows when it begins.`;
    default:
      return `The host's log says why under "saga not taken"; \`sagamesh verify ${saga}\` checks its ledger. A version that no host serves needs a host that has it.`;
  }
}

export const judgeTools: Judge = ({ tools: all, paused }) => {
  const findings = all.flatMap((one): Finding[] => {
    const pause = paused.find(({ kind, name }) => kind === "tool" && name === one.name);
    const label = rowLabel(one);
    if (one.paused || pause !== undefined) return [];
    const found: Finding[] = [];
    const total = one.waiting + one.held;
    if (total > 0 && !one.workers && one.held < limits.inFlightPerToolMax)
      found.push(
        wrong(
          "NO_WORKER",
          `${total} calls of ${label} wait and no worker serves that contract${of(undefined, one.oldestAgeMs)}${othersOf(all, one)}`,
          `Start one with an application file that has it: \`sagamesh worker --app FILE --tool ${nameOf(one)}\`; or let the body of a later version take its calls (\`accepts\`).`,
        ),
      );
    else if ((one.lagMs ?? 0) > lagWarnMs)
      found.push(
        warning(
          "WORK_LAG",
          `${one.waiting} calls of ${label} wait, the oldest for ${span(one.lagMs ?? 0)}`,
          "Start more workers, or raise the tool's concurrencyMax if what it calls can bear it.",
        ),
      );
    if (one.redelivered > 0 && (one.oldestAgeMs ?? 0) > stuckMs)
      found.push(
        warning(
          "STUCK_WORK",
          `${one.redelivered} calls of ${label} come back again and again${of(undefined, one.oldestAgeMs)}`,
          `The workers' logs say why; after ${limits.workDeliveriesMax} deliveries a call is given up by itself.`,
        ),
      );
    return found;
  });
  const pauses = [
    ...paused,
    ...[...new Set(all.filter((one) => one.paused).map(({ name }) => name))]
      .filter((tool) => !paused.some(({ kind, name }) => kind === "tool" && name === tool))
      .map((name) => ({ kind: "tool" as const, name, by: "somebody", reason: undefined })),
  ].map(({ kind, name, by, reason }) =>
    warning(
      kind === "tool" ? "TOOL_PAUSED" : "MODEL_PAUSED",
      `${kind} ${name} is paused by ${by}${reason === undefined ? "" : `: ${reason}`}`,
      `\`sagamesh resume ${kind} ${name}\` lets it go on.`,
    ),
  );
  return orFine(
    [...findings, ...pauses, ...unaskedContracts(all)],
    "WORK",
    `${new Set(all.map(({ name }) => name)).size} tools have work or workers, and what waits is served`,
  );
};

/** The workers that are there have another contract: the likeliest cause, and the first thing to look at. */
function othersOf(
  all: readonly DoctorDocument["tools"][number][],
  { name, contract }: { name: string; contract: string },
): string {
  const others = all.filter((one) => one.name === name && one.contract !== contract && one.workers);
  return others.length === 0 ? "" : `; workers have ${others.map(rowLabel).join(", ")}`;
}

const nameOf = ({ name, version }: { name: string; version?: number | undefined }): string =>
  version === undefined ? name : toolLabel({ name, version });
