/**
 * Proofs: after the verdict, what the run left behind is spoiled, and the oracle has to see each of it. So a run that
 * finds nothing has shown that it could have.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { headers, ledgerStream, shardOfLedger, subjects } from "../../protocol/subjects.ts";
import { type Call, openHistory } from "./linear/history.ts";
import { appendLines, readLines } from "./lines.ts";
import type { Violation } from "./violation.ts";
import type { Servers } from "./servers.ts";
import type { WorldLine } from "./world.ts";

export interface Proof {
  readonly name: string;
  /** Throws if there is nothing to spoil. */
  spoil(servers: Servers, folder: string): Promise<void>;
  /** What it spoils only the judge of histories can see, which is not on every machine. */
  readonly ofHistories?: true;
  readonly isFoundBy: (violation: Violation) => boolean;
}

export const proofs: readonly Proof[] = [
  {
    name: "a once effect stands twice in the outside's account",
    spoil: async (_, folder) => {
      const path = join(folder, "account.jsonl");
      const once = readLines<WorldLine>(path).find(({ acts }) => acts[0]?.effect === "once");
      if (once === undefined) throw new Error("no once effect was performed; take another seed");
      const file = appendLines<WorldLine>(path);
      file.write({ ...once, acts: once.acts.map((act) => ({ ...act, by: "the double" })) });
      file.close();
    },
    isFoundBy: ({ promise, what }) => promise === "P1" && what.includes("the double"),
  },
  {
    name: "a turn is gone from a ledger",
    spoil: async ({ ports, jsm }) => {
      const one = (await ports.ledger.list()).find(({ turns }) => turns > 2);
      if (one === undefined) throw new Error("no ledger has three turns; take another seed");
      const filter = (await ports.ledger.last(one.saga))?.subject ?? subjects.ledger(one.saga);
      await jsm.streams.purge(ledgerStream(shardOfLedger(filter)), { filter, keep: one.turns - 1 });
    },
    isFoundBy: ({ promise, what }) => promise === "P3" && what.startsWith("vanished"),
  },
  {
    name: "an acked input is neither in a ledger nor a dead letter",
    spoil: async ({ ports }) => {
      const isStart = (fields: Readonly<Record<string, string>>) =>
        fields[headers.origin]?.includes(".start#");
      const one = (await ports.dead.list()).find((letter) => isStart(letter.headers));
      if (one === undefined) throw new Error("nothing was set aside; take another seed");
      await ports.dead.remove(one.seq);
    },
    isFoundBy: ({ promise, what }) => promise === "P2" && what.startsWith("lost:"),
  },
  {
    name: "two hosts were told that their turn follows the same one",
    spoil: async (_, folder) => {
      const calls = (await readdir(folder))
        .filter((name) => name.startsWith("history-host"))
        .flatMap((name) => readLines<{ call?: Call }>(join(folder, name)));
      const append = calls.find(({ call }) => call?.object === "ledger" && call.do === "append")?.call;
      if (append === undefined) throw new Error("no host has appended");
      const history = openHistory(join(folder, "history-rival.jsonl"), "rival");
      history.note({ ...append, value: "the rival" }, { outcome: "done", seq: Number.MAX_SAFE_INTEGER });
      history.close();
    },
    ofHistories: true,
    isFoundBy: ({ promise, what }) => promise === "LINEAR" && what.includes("the rival"),
  },
];
