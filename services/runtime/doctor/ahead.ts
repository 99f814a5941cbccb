/** Ahead: sagas of which something beside their ledger knows more turns. Pure. */
import { amongThem, fine, type Judge, warning, wrong } from "./finding.ts";

export const judgeAhead: Judge = (document) => {
  const { ahead } = document;
  if (ahead === undefined) return [];
  const { sagas, some } = ahead;
  if (sagas === 0)
    return [fine("LEDGERS", `no snapshot knows more than its ledger has${amongThem(document)}`)];
  const names = some.map(({ saga, turns, knows, noted }) =>
    turns === 0
      ? `${saga} (its ledger is gone; its snapshot is of turn ${knows})`
      : `${saga} (it has ${turns} turns, and ${noted ? "a host knew" : "its snapshot knows"} ${knows})`,
  );
  const what = `${sagas} ${sagas === 1 ? "ledger lacks" : "ledgers lack"} turns that are known of: ${names.join("; ")}${sagas > some.length ? "; \u2026" : ""}`;
  return some.every(({ noted }) => noted)
    ? [
        warning(
          "LEDGER_SHORT",
          what,
          "They go on from what their ledgers have, and what may have begun beyond is in doubt: see `sagamesh tasks`.",
        ),
      ]
    : [
        wrong(
          "LEDGER_SHORT",
          what,
          "`sagamesh restored` says what else is ahead of its ledger; with --yes nothing of it is done twice. A saga whose ledger is gone is started again by who needs it; what it did outside stands.",
        ),
      ];
};
