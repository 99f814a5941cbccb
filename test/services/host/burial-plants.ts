/**
 * The rules of bury.ts, each broken in its source: planted-burials.e2e.test.ts shows that burial-rules.ts finds every one.
 *
 * Not here: that one process buries a host once (`underWay`). Without it the entry's compare refuses the second.
 */
import type { Plant } from "../../simulation/planted-rule.ts";

const file = "services/host/bury.ts";
const plant = (name: string, rule: string, find: string, replace: string): Plant => ({
  ...{ name, rule },
  edits: [{ file, find, replace }],
});

export const burialPlants: readonly Plant[] = [
  plant(
    "asked-once",
    "BY1: it is asked for twice",
    "if (!hasEnded(entry)) await clock.sleep(limits.unheardMs);",
    "",
  ),
  plant(
    "not-asked-again",
    "BY1, BY2: it is asked for after its entry was read",
    "if (entry === undefined || !(await isDead(host, entry))) return false;",
    "if (entry === undefined) return false;",
  ),
  plant(
    "any-server",
    "BY1: by a host at the server where it listens",
    "heardAt !== undefined && heardAt === membership.server();",
    "heardAt !== null;",
  ),
  plant(
    "server-left",
    "BY1: which its watcher has not left meanwhile",
    "isHeardHere(entry) && (await membership.isUnheard(host)) && isHeardHere(entry);",
    "isHeardHere(entry) && (await membership.isUnheard(host));",
  ),
  plant(
    "silence",
    "BY1: silence is no evidence",
    "hasEnded(entry) || (await isUnheard(host, entry));",
    "hasEnded(entry) || (await Promise.race([isUnheard(host, entry), clock.sleep(20)])) !== false;",
  ),
  plant(
    "process-unseen",
    "BY1: that its process is no more is evidence",
    "process !== undefined && processes?.hasEnded(process) === true;",
    "process !== undefined && processes === undefined;",
  ),
  plant(
    "without-compare",
    "BY2: its entry is taken away by compare",
    "if (!(await patiently(clock, () => membership.remove(host, revision)))) return false;",
    "await membership.remove(host, revision); await membership.leave(host);",
  ),
  plant(
    "given-back-first",
    "BY3: nothing is given back of a host whose entry stays",
    "const outstanding = await inbox.outstanding(entry.partitions);",
    "const outstanding = await inbox.outstanding(entry.partitions); await outstanding.giveBack();",
  ),
  plant(
    "given-back-later",
    "BY3: what was out before its entry was taken away",
    "patiently(clock, () => outstanding.giveBack()).catch(",
    "inbox.outstanding(entry.partitions).then((late) => late.giveBack()).catch(",
  ),
  plant(
    "no-circle",
    "BY4: each watches the next one",
    "return told.find(([host]) => host > incarnation) ?? told[0];",
    "return told[0];",
  ),
  plant(
    "watches-anyone",
    "BY4: that it can tell of",
    "entry !== undefined && (isHeardHere(entry) || isOfThisMachine(entry)) ? [[host, entry]] : [],",
    "entry !== undefined ? [[host, entry]] : [],",
  ),
];
