/**
 * The model as a command:
 *
 *     npm run test:model -- [--world NAME]... [--states MAX]
 *
 * Without a name all worlds but the largest are walked.
 *
 * Exit 0: everything holds; 1: something is broken, with a shortest trace to it; 2: bad usage.
 */
import { parseArgs } from "node:util";
import { walk } from "./search.ts";
import { middle, small, worlds } from "./worlds.ts";

const { values } = parseArgs({
  options: { world: { type: "string", multiple: true }, states: { type: "string", default: "20000000" } },
});
const names = values.world ?? [...small, ...middle].map(({ name }) => name);
let isBroken = false;
for (const name of names) {
  const world = worlds.find((one) => one.name === name);
  if (world === undefined) {
    process.stderr.write(
      `no world is named "${name}"; there are: ${worlds.map((one) => one.name).join(", ")}\n`,
    );
    process.exit(2);
  }
  const begun = performance.now();
  const { states, steps, depth, ends, broken, trace, isCut } = walk(world, {
    statesMax: Number(values.states),
    progress: (at, seen) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${name}: ${at} deep, ${seen} states `);
    },
  });
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const mb = Math.round(process.memoryUsage().rss / 2 ** 20);
  process.stdout.write(
    `${name}: ${states} states, ${steps} steps, ${depth} deep, ${ends} ends, ${seconds} s, ${mb} MB${isCut ? ", cut" : ""}\n`,
  );
  if (broken === undefined) continue;
  isBroken = true;
  process.stdout.write(`  broken: ${broken}\n${trace.map((line, i) => `  ${i + 1}. ${line}\n`).join("")}`);
}
process.exit(isBroken ? 1 : 0);
