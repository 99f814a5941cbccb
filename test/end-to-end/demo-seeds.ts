/**
 * The demo over many seeds, one line each: `node --conditions=sagamesh-source test/end-to-end/demo-seeds.ts
 * [FIRST] [LAST] [KILLS]`. Exits 1 if a run duplicated or lost an effect or did not complete; a run over 30 s is
 * marked as slow, for that is the machine's doing as well.
 *
 * Runs for about 20 s a seed, so the tests run a few seeds and this is run by hand.
 */
import { DemoReport } from "../../protocol/documents/demo.ts";
import { runDemo } from "../../services/demo/demo.ts";
import { planKills } from "../../services/demo/kill-plan.ts";

const [first = 1, last = 50, kills = 3] = process.argv.slice(2).map(Number);
const elapsedMaxMs = 30_000;
const met = new Map<string, number>();
let failures = 0;
let slow = 0;
const ended = new AbortController();
process.once("SIGINT", () => ended.abort());

for (let seed = first; seed <= last; seed++) {
  let document = "";
  let story = "";
  const code = await runDemo({
    seed,
    kills,
    json: true,
    signal: ended.signal,
    out: (text) => (document += text),
    err: (text) => (story += text),
  });
  if (ended.signal.aborted) break;
  const report = DemoReport.parse(JSON.parse(document));
  for (const { effect, window } of report.kills)
    met.set(`${effect} ${window}`, (met.get(`${effect} ${window}`) ?? 0) + 1);
  const isGood = code === 0 && report.kills.length === planKills(seed, kills).length;
  if (!isGood) {
    failures += 1;
    console.log(story);
  }
  const isSlow = report.elapsedMs >= elapsedMaxMs;
  if (isSlow) slow += 1;
  const { duplicates, lost, inDoubt } = report.effects;
  const struck = report.kills.map((kill) => `${kill.tool}/${kill.window}`).join(" ");
  const recovered = report.recoveryMs.map((ms) => (ms / 1_000).toFixed(1)).join(" ");
  console.log(
    `${isGood ? (isSlow ? "slow" : "ok  ") : "FAIL"} seed ${seed}: ${report.status} ${(report.elapsedMs / 1_000).toFixed(1)} s, ` +
      `duplicates ${duplicates}, lost ${lost}, in doubt ${inDoubt}; ${struck}; recovery ${recovered} s`,
  );
}
console.log(
  [...met]
    .sort()
    .map(([where, count]) => `${where}: ${count}`)
    .join("\n"),
);
console.log(`${failures} failed, ${slow} slow`);
process.exitCode = failures === 0 ? 0 : 1;
