/**
 * XState's own workflow examples, as they are: each is adopted by words that `check` finds, run by `createActor` and by a mesh
 * with the same events, and compared: the state and the context after every event, and the end.
 *
 *     node --conditions=sagamesh-source test/porting/run.ts CHECKOUT [NAME]
 *
 * CHECKOUT is a checkout of `statelyai/xstate`, in which `npm install cockatiel fs-extra mongodb node-ffprobe winston` was run.
 * None of its code is kept here. What a person would have to decide or change stands in examples.ts.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import { type AnyStateMachine, createActor, createMachine, fromPromise, SimulatedClock } from "xstate";
import { z } from "zod";
import { adoptMachine, defineApp, defineSaga, type SagaDefinition } from "sagamesh";
import { testMesh } from "sagamesh/testing";
import { readMachineFile } from "../../services/check/read.ts";
import { innerMachines, surveyOf } from "../../services/check/survey.ts";
import { viewingByFold } from "../../services/views/folded.ts";
import { type Example, examples } from "./examples.ts";

const [folder, only] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: run.ts CHECKOUT [NAME]");
const checkout = resolve(folder);

/** Code of the checkout waits little: what it waits for is a stand-in for work. */
const realTimeout = globalThis.setTimeout;
globalThis.setTimeout = ((run: () => void, ms = 0) => {
  const isTheirs = (new Error().stack ?? "").includes(checkout);
  return realTimeout(run, isTheirs ? Math.min(ms, 20) : ms);
}) as typeof setTimeout;
const pause = (ms: number) => new Promise((done) => realTimeout(done, ms));

const patches = new Map<string, Example["patch"]>();
/** As bundlers do it: endings are found, types are dropped. */
registerHooks({
  resolve: (specifier, context, next) => {
    try {
      return next(specifier, context);
    } catch (error) {
      if (specifier.startsWith(".")) return next(`${specifier}.ts`, context);
      throw error;
    }
  },
  load: (url, context, next) => {
    if (!url.startsWith(pathToFileURL(checkout).href) || !/\.ts$/.test(url) || url.includes("/node_modules/"))
      return next(url, context);
    const path = fileURLToPath(url);
    let text = readFileSync(path, "utf8");
    for (const [was, is] of patches.get(path) ?? []) text = text.replaceAll(was, is);
    const module = ts.ModuleKind.ESNext;
    const { outputText } = ts.transpileModule(text, {
      compilerOptions: { module, target: ts.ScriptTarget.ES2024 },
    });
    return { format: "module", source: outputText, shortCircuit: true };
  },
});

interface Seen {
  readonly value: unknown;
  readonly context: unknown;
  readonly status: string;
}
/** As JSON, and without the hour at which a body was run. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value ?? null).replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"a time"')) as unknown;

/** With the bodies that stand in for the outside, in the machines within it, too. */
function withBodies(machine: AnyStateMachine, { bodies = {}, outside = [] }: Example): AnyStateMachine {
  const own = machine.implementations.actors as Record<string, unknown>;
  const actors: Record<string, unknown> = {};
  for (const [name, body] of Object.entries(bodies))
    if (name in own) actors[name] = fromPromise(body as never);
  for (const name of outside) if (name in own) actors[name] = fromPromise(() => new Promise(() => {}));
  for (const [name, inner] of innerMachines(machine))
    actors[name] = withBodies(inner, { file: "", bodies, outside });
  return machine.provide({ actors, delays: surveyOf(machine).delays } as never);
}

/** It waits, as an interval does that goes on for ever. */
const forEver = defineSaga({
  ...{ name: "for-ever", version: 1, input: z.unknown(), output: z.unknown(), machine: createMachine({}) },
});

/** By the words that `check` finds: promises may run again, actions that do more than print are tools. */
function sagaOf(
  machine: AnyStateMachine,
  name: string,
  example: Example,
): SagaDefinition<z.ZodUnknown, z.ZodUnknown> {
  const { effects, actions, signals, delays } = surveyOf(machine);
  const { outside = [] } = example;
  const waiting = Object.fromEntries(
    outside.filter((src) => src in machine.implementations.actors).map((src) => [src, forEver]),
  );
  const inner = innerMachines(machine).map(
    ([src, one]) => [src, sagaOf(one, `${name}-${src}`, example)] as const,
  );
  return defineSaga({
    ...{ name, version: 1, input: z.unknown(), output: z.unknown() },
    signals: Object.fromEntries(signals.map((signal) => [signal.name, z.looseObject({})])),
    machine: adoptMachine(machine, {
      space: name,
      effects: Object.fromEntries(
        effects.flatMap((one) =>
          one.kind === "promise" && !outside.includes(one.name)
            ? [[one.name, { effect: "read" as const, retry: { attemptsMax: 1, backoffMs: 0 } }]]
            : [],
        ) as never,
      ),
      actions: Object.fromEntries(
        actions.map((one) => [one.name, one.as === "log" ? ("log" as const) : ("idempotent" as const)]),
      ),
      actors: { ...waiting, ...Object.fromEntries(inner) },
      delays,
    }),
  });
}

/** Looks at an actor, 25 ms apart and all alike, after which it waits for what comes from outside. */
const quietLooks = 40;

type Step = { readonly type: string; readonly [member: string]: unknown } | number;

async function live(machine: AnyStateMachine, input: unknown, path: readonly Step[]): Promise<Seen[]> {
  const clock = new SimulatedClock();
  const actor = createActor(machine, { clock, input: input as never, logger: () => {} });
  actor.subscribe({ error: () => {} });
  actor.start();
  const seen: Seen[] = [];
  const see = async () => {
    // Bodies of theirs try again by themselves: what looks done after a tenth of a second may go on.
    for (let quiet = 0, last: unknown; quiet < quietLooks; quiet++, last = actor.getSnapshot()) {
      await pause(25);
      if (last !== actor.getSnapshot()) quiet = 0;
    }
    const { value, context, status } = actor.getSnapshot() as Seen;
    seen.push({ value: plain(value), context: plain(context), status });
  };
  await see();
  for (const step of path) {
    if (typeof step !== "number") actor.send(step);
    else
      for (let left = step; left > 0; left -= 250) {
        clock.increment(250); // It fires the timers that there are, and none that these begin.
        await pause(3);
      }
    await see();
  }
  actor.stop();
  return seen;
}

async function inMesh(
  machine: AnyStateMachine,
  example: Example,
  input: unknown,
  path: readonly Step[],
): Promise<Seen[]> {
  const saga = sagaOf(machine, "tried", example);
  const app = defineApp({ sagas: [saga] });
  await using mesh = testMesh(app, { realMs: 2_000 });
  const tried = await mesh.start(saga, input ?? {}, { id: "tried" });
  const seen: Seen[] = [];
  const see = async () => {
    const view = viewingByFold(app, await tried.ledger());
    let folded = view.next();
    while (folded.done !== true) folded = view.next();
    const { value, context, status } = folded.value.state.snapshot as Seen;
    seen.push({ value: plain(value), context: plain(context), status });
  };
  await see();
  for (const step of path) {
    if (typeof step === "number") await mesh.advance(step);
    else if ((await tried.end()) === undefined) {
      const { type, ...data } = step;
      await tried.signal(type as never, data as never);
    }
    await mesh.crash();
    await see();
  }
  return seen;
}

async function compare(name: string, example: Example): Promise<readonly string[]> {
  const file = resolve(checkout, "examples", name, example.file);
  patches.set(file, example.patch);
  const { machines, started } = await readMachineFile(file, 5_000);
  const root = machines.find(({ machine }) => machine === started[0]?.logic) ?? machines.at(-1);
  if (root === undefined) return ["no machine"];
  const machine = withBodies(root.machine, example);
  const { changes, impure } = surveyOf(machine);
  const input = example.input ?? started[0]?.input;
  const path = [...(example.path ?? started[0]?.sent ?? []), ...(example.then ?? [20_000])];
  if (changes.length + impure.length > 0)
    return ["must change", ...changes, ...impure.map(({ where }) => where)];
  const [alone, meshed] = [await live(machine, input, path), await inMesh(machine, example, input, path)];
  const differ = alone.findIndex((one, k) => !isDeepStrictEqual(one, meshed[k]));
  const text = readFileSync(file, "utf8");
  const lines = (example.patch ?? [])
    .flatMap(([was]) => text.match(was) ?? [])
    .reduce((sum, found) => sum + found.trim().split("\n").length, 0);
  const end = alone.at(-1);
  const told = `${lines} lines changed, ${alone.length} states${example.outside === undefined ? "" : ", an interval outside"}, ${end?.status} in ${JSON.stringify(end?.value)}`;
  if (differ === -1) return ["agrees", told];
  return [
    "differs",
    `after step ${differ}: ${JSON.stringify(alone[differ])} and in the mesh ${JSON.stringify(meshed[differ])}`,
  ];
}

const alive = setInterval(() => {}, 1_000); // Bodies that wait for nothing are waited for.
const counts: Record<string, number> = {};
const print = console.log;
for (const name of ["log", "info", "warn", "error"] as const) console[name] = () => undefined;
for (const [name, example] of Object.entries(examples)) {
  if (only !== undefined && name !== only) continue;
  const [verdict = "", ...words] = await compare(name, example).catch((error: unknown) => [
    "failed",
    String(error),
  ]);
  const kind =
    verdict === "agrees"
      ? (example.patch ?? []).length === 0
        ? "agree, unchanged"
        : "agree, changed"
      : verdict;
  counts[kind] = (counts[kind] ?? 0) + 1;
  print(`${name}: ${verdict}; ${words.join("; ")}`);
}
print(JSON.stringify(counts));
clearInterval(alive);
process.exit(0); // What files started goes on.
