/** What waits too long: inputs of sagas, calls of tools. Pure. */
import type { Finding } from "../../../protocol/documents/doctor.ts";
import { limits } from "../../../protocol/limits.ts";
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
          `${one.redelivered} inputs of partition ${one.partition} come back again and again${of(one.oldestSaga, one.oldestAgeMs)}`,
          `The host's log says why under "saga not taken"; \`sagamesh verify ${one.oldestSaga ?? "SAGA"}\` checks its ledger. A version that no host serves needs a host that has it.`,
        ),
      );
    return found;
  });
  const waiting = partitions.reduce((sum, one) => sum + one.waiting, 0);
  return partitions.length === 0
    ? []
    : orFine(findings, "INBOX", `${waiting} inputs wait over ${partitions.length} partitions`);
};

export const judgeTools: Judge = ({ tools: all, paused }) => {
  const findings = all.flatMap((one): Finding[] => {
    const pause = paused.find(({ kind, name }) => kind === "tool" && name === one.name);
    if (one.paused || pause !== undefined) return [];
    const found: Finding[] = [];
    const total = one.waiting + one.held;
    if (total > 0 && !one.workers && one.held < limits.inFlightPerToolMax)
      found.push(
        wrong(
          "NO_WORKER",
          `${total} calls of ${one.name} wait and no worker serves it${of(undefined, one.oldestAgeMs)}`,
          `Start one: \`sagamesh worker --app FILE --tool ${one.name}\`.`,
        ),
      );
    else if ((one.lagMs ?? 0) > lagWarnMs)
      found.push(
        warning(
          "WORK_LAG",
          `${one.waiting} calls of ${one.name} wait, the oldest for ${span(one.lagMs ?? 0)}`,
          "Start more workers, or raise the tool's concurrencyMax if what it calls can bear it.",
        ),
      );
    if (one.redelivered > 0 && (one.oldestAgeMs ?? 0) > stuckMs)
      found.push(
        warning(
          "STUCK_WORK",
          `${one.redelivered} calls of ${one.name} come back again and again${of(undefined, one.oldestAgeMs)}`,
          `The workers' logs say why; after ${limits.workDeliveriesMax} deliveries a call is given up by itself.`,
        ),
      );
    return found;
  });
  const pauses = [
    ...paused,
    ...all
      .filter((one) => one.paused && !paused.some(({ kind, name }) => kind === "tool" && name === one.name))
      .map(({ name }) => ({ kind: "tool" as const, name, by: "somebody", reason: undefined })),
  ].map(({ kind, name, by, reason }) =>
    warning(
      kind === "tool" ? "TOOL_PAUSED" : "MODEL_PAUSED",
      `${kind} ${name} is paused by ${by}${reason === undefined ? "" : `: ${reason}`}`,
      `\`sagamesh resume ${kind} ${name}\` lets it go on.`,
    ),
  );
  return orFine(
    [...findings, ...pauses],
    "WORK",
    `${all.length} tools have a queue, and what waits is served`,
  );
};
