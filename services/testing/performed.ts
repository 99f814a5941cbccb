/**
 * What the bodies of an application's tools did, as a test asks for it.
 *
 * PE1 Virtual time stands still while a body runs, so that what it waits for takes no time: a file, a connection, a timer
 *     of the process. But not for ever: after `realMs` it goes on, and after a quarter of a second where the process waits
 *     for no more than it did before any body ran, so a body that hangs meets its timeout.
 */
import { type AnyBody, implement, type PerformContext } from "../../actors/contract/tool.ts";
import type { Effect } from "../../protocol/tool.ts";
import { type App, defineApp } from "../app/app.ts";
import type { VirtualClock } from "../memory/clock.ts";
import type { ModelPort } from "../../protocol/model.ts";

/** One call of a tool's body. */
export interface PerformedCall {
  readonly tool: string;
  readonly version: number;
  readonly effect: Effect;
  readonly saga: string;
  /** The same for every attempt, restart and takeover of one intent. */
  readonly key: string;
  readonly attempt: number;
  readonly input: unknown;
  /** Milliseconds since the epoch, virtual. */
  readonly at: number;
  /** How the body ended; `unfinished` if its process died before, or it still runs. */
  readonly ended: "returned" | "threw" | "unfinished";
  /** What it returned, or threw. */
  readonly value?: unknown;
}

/** Real time that a body may take which waits for nothing that can be seen, milliseconds, unless it says otherwise. */
const quickMs = 250;
/** How often one that waits for something is looked at, milliseconds. */
const lookMs = 25;
/** The bound where none is given: a body that takes longer is one that a test replaces. */
const realMsDefault = 10_000;

/** The application, with every call of a body noted in `calls`. */
export function watched(
  app: App,
  clock: VirtualClock,
  calls: PerformedCall[],
  { models = {}, realMs = realMsDefault }: { models?: Readonly<Record<string, ModelPort>>; realMs?: number },
): App {
  const held = holding(clock, realMs);
  const implementations = [...app.bodies].flatMap(([contract, body]) => {
    const tool = app.tools.get(contract);
    if (tool === undefined) return [];
    const { name, version, effect } = tool;
    const probe = body.probe?.bind(body);
    let isLeft = false;
    const leave = () => (isLeft = true);
    const watching: AnyBody = {
      perform: (input, context) =>
        note(calls, clock, { tool: name, version, effect, input }, context, () =>
          held(() => body.perform(input, context), body.realMs, leave),
        ),
      ...(probe && {
        probe: (key: string, input: unknown) => held(() => probe(key, input), body.realMs, leave),
      }),
    };
    const whyLate = () =>
      isLeft
        ? `: virtual time went on without its body, which took too long (realMs of testMesh: ${realMs})`
        : "";
    const bound = implement(tool, watching as never); // Proof: it has a probe where the body it wraps has one.
    return [{ ...bound, body: { ...bound.body, whyLate } }];
  });
  return defineApp({ ...app.config, implementations, models: { ...app.config.models, ...models } });
}

async function note(
  calls: PerformedCall[],
  clock: VirtualClock,
  what: Pick<PerformedCall, "tool" | "version" | "effect" | "input">,
  context: PerformContext,
  perform: () => Promise<unknown>,
): Promise<unknown> {
  const { key, attempt } = context;
  const place = calls.length;
  const call: PerformedCall = {
    ...what,
    saga: key.slice(0, key.indexOf(".")),
    key,
    attempt,
    at: clock.now(),
    ended: "unfinished",
  };
  calls.push(call);
  try {
    const value = await perform();
    calls[place] = { ...call, ended: "returned", value };
    return value;
  } catch (error) {
    calls[place] = { ...call, ended: "threw", value: error };
    throw error;
  }
}

type Held = <T>(begin: () => T | Promise<T>, ownMs: number | undefined, leave: () => void) => Promise<T>;

/** PE1. `leave` is told that time goes on without a body. */
function holding(clock: VirtualClock, realMs: number): Held {
  let running = 0;
  let before = 0;
  /** Until the bound, or as long as the process waits for more than before any body ran. */
  const patience = async (ownMs: number, leave: () => void, isReal: boolean, isOver: () => boolean) => {
    const began = performance.now();
    while (!isOver()) {
      const took = performance.now() - began;
      if (took >= realMs || (took >= ownMs && !isReal && waitingFor() <= before)) return leave();
      await new Promise<void>((resolve) => setTimeout(resolve, Math.min(lookMs, realMs)).unref());
    }
  };
  return (begin, ownMs = quickMs, leave) => {
    if (running++ === 0) before = waitingFor();
    const atFirst = waitingFor();
    // A body of toolsOf, or of plain JavaScript, may be no promise.
    const work = new Promise<Awaited<ReturnType<typeof begin>>>((resolve) => resolve(begin() as never));
    // In one moment, so that nothing else of the process is taken for the body's.
    const isReal = waitingFor() > atFirst;
    let isOver = false;
    const end = () => {
      isOver = true;
      running -= 1;
    };
    const ended = work.then(end, end);
    void clock.hold(Promise.race([ended, patience(ownMs, leave, isReal, () => isOver)]));
    return work; // Proof: of what `begin` gives.
  };
}

/** What keeps the process alive: timers, requests, sockets. Its turns of the loop are the clock's own. */
const waitingFor = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource !== "Immediate").length;
