/**
 * `npm run test:schedules -- --runs N --seed N`: the walk of `agreement.ts` over as many days as are asked for. Exit 1 where
 * anything differs.
 */
import { parseArgs } from "node:util";
import { agreement } from "./agreement.ts";

const { values } = parseArgs({
  options: { runs: { type: "string", default: "10000" }, seed: { type: "string", default: "1" } },
});
const { counts, disagreements } = agreement(Number(values.seed), [...Array(Number(values.runs)).keys()]);
process.stdout.write(
  `${JSON.stringify({ ...values, counts, disagreements: disagreements.length }, null, 2)}\n`,
);
for (const one of disagreements.slice(0, 3)) process.stdout.write(`${JSON.stringify(one)}\n`);
process.exitCode = disagreements.length > 0 ? 1 : 0;
