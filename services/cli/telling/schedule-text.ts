/** Schedule text: schedules as people read them. Times are UTC. */
import type { ScheduleDocument } from "../../../protocol/documents/schedule.ts";
import { table } from "../frame/table.ts";
import { dateOf } from "./describe.ts";

const spanOf = (ms: number): string =>
  ms % 3_600_000 === 0 && ms > 0
    ? `${ms / 3_600_000}h`
    : ms % 60_000 === 0
      ? `${ms / 60_000}m`
      : `${ms / 1_000}s`;

/** A line each. */
export function describeSchedules(documents: readonly ScheduleDocument[]): string {
  if (documents.length === 0) return "there are no schedules";
  const rows = documents.map(({ name, settings, status, next, counts, lateMs }) => [
    name,
    `${status}${lateMs === undefined ? "" : ", late"}`,
    settings.cron,
    settings.tz,
    settings.saga,
    next === undefined ? "" : dateOf(next),
    String(counts?.begun ?? 0),
  ]);
  return table(["SCHEDULE", "STATUS", "CRON", "ZONE", "OF", "NEXT (UTC)", "RUNS"], rows);
}

/** One of them, with its latest runs. */
export function describeShown(document: ScheduleDocument): string {
  const { name, saga, settings, status, next, lateMs, blocked, line, ranges, runs, counts, refused, gap } =
    document;
  const { cron, tz, overlap, catchupMs, jitterMs } = settings;
  const version = settings.version === undefined ? "" : `@${settings.version}`;
  const waiting = line + ranges.length;
  return [
    `schedule ${name}  ${status}  (saga ${saga})`,
    `begins ${settings.saga}${version} at "${cron}" by the clocks of ${tz}; overlap ${overlap}, catches up ${spanOf(catchupMs)}${jitterMs === 0 ? "" : `, jitter ${spanOf(jitterMs)}`}`,
    next === undefined
      ? "nothing is due"
      : `next ${dateOf(next)} UTC${lateMs === undefined ? "" : `, which is ${spanOf(Math.round(lateMs / 60_000) * 60_000)} ago: no host moves it`}`,
    ...(blocked === undefined
      ? []
      : [`${blocked.run} waits for ${blocked.by} to end, since ${dateOf(blocked.since)}`]),
    ...(waiting === 0 ? [] : [`${line} in line, ${ranges.length} spans to fill in`]),
    ...(counts === undefined
      ? []
      : [
          `${counts.begun} begun, ${counts.skipped} skipped, ${counts.missed} missed, ${counts.dropped} dropped from a full line, ${counts.refused} refused`,
        ]),
    ...(gap === undefined
      ? []
      : [`all that was due from ${dateOf(gap.from)} to ${dateOf(gap.to)} was missed`]),
    ...(refused === undefined ? [] : [`${refused.run} could not begin (${refused.code}): ${refused.reason}`]),
    ...(runs.length === 0
      ? []
      : [
          table(
            ["SAGA", "DUE (UTC)", "BEGUN (UTC)", "BY", "STATUS"],
            runs.map(({ run, due, begunAt, by, status: how }) => [
              run,
              dateOf(due),
              dateOf(begunAt),
              by,
              how,
            ]),
          ),
        ]),
  ].join("\n");
}
