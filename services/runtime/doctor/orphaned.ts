/**
 * Orphaned: sagas that stand because what was open of them is in no queue. Pure.
 *
 * ZO1 A host's audit hands it on again by itself: until it has had its time this is a warning. What still stands after
 *     that stands until a person acts.
 */
import { limits } from "../../../protocol/limits.ts";
import { amongThem, fine, type Judge, span, warning, wrong } from "./finding.ts";

/** Three rounds of the audit: one to find it, one that a change of hosts may cost. */
const auditsMs = 3 * limits.auditEveryMs;

export const judgeOrphaned: Judge = (document) => {
  const { orphaned } = document;
  if (orphaned === undefined) return [];
  const { sagas, notLookedAt, some } = orphaned;
  const beside = notLookedAt === 0 ? amongThem(document) : `; ${notLookedAt} living sagas were not looked at`;
  const [longest] = some;
  if (longest === undefined) return [fine("ORPHANS", `no saga stands for want of a lost message${beside}`)];
  const names = some.map(({ saga, standsMs, open }) => `${saga} for ${span(standsMs)} (${open.join(", ")})`);
  const what = `${sagas} saga${sagas === 1 ? "" : "s"} stand${sagas === 1 ? "s" : ""}, for what is open is in no queue: ${names.join("; ")}${sagas > some.length ? "; \u2026" : ""}${beside}`;
  return longest.standsMs < auditsMs
    ? [
        warning(
          "ORPHANED",
          what,
          "Hosts hand it on again within minutes, each by its effect's class; `sagamesh nudge --all` does it at once.",
        ),
      ]
    : [
        wrong(
          "ORPHANED",
          what,
          "`sagamesh nudge --all` hands it on again. If it stays so, see what `sagamesh inspect SAGA` says is open, and that a host and a worker serve it.",
        ),
      ];
};
