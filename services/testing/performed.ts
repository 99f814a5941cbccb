/**
 * What the bodies of an application's tools did, as a test asks for it.
 *
 * PE1 Virtual time stands still while a body runs, so that one that reads a file takes no time; but not for ever:
 *     after a while it goes on, and a body that hangs meets its timeout.
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

/** Real time that a body may take before virtual time goes on without it, milliseconds, unless it says otherwise. */
const holdMs = 250;

/** The application, with every call of a body noted in `calls`. */
export function watched(
  app: App,
  clock: VirtualClock,
  calls: PerformedCall[],
  models: Readonly<Record<string, ModelPort>> = {},
): App {
  const implementations = [...app.bodies].flatMap(([contract, body]) => {
    const tool = app.tools.get(contract);
    if (tool === undefined) return [];
    const { name, version } = tool;
    const watching: AnyBody = {
      perform: (input, context) =>
        note(calls, clock, { tool: name, version, effect: tool.effect, input }, context, body),
      ...(body.probe === undefined
        ? {}
        : {
            probe: (key: string, input: unknown) =>
              held(clock, (body.probe as NonNullable<AnyBody["probe"]>)(key, input), body.realMs),
          }),
    };
    return [implement(tool, watching as never)]; // Proof: it has a probe where the body it wraps has one.
  });
  return defineApp({ ...app.config, implementations, models: { ...app.config.models, ...models } });
}

async function note(
  calls: PerformedCall[],
  clock: VirtualClock,
  what: Pick<PerformedCall, "tool" | "version" | "effect" | "input">,
  context: PerformContext,
  body: AnyBody,
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
    const value = await held(clock, body.perform(what.input, context), body.realMs);
    calls[place] = { ...call, ended: "returned", value };
    return value;
  } catch (error) {
    calls[place] = { ...call, ended: "threw", value: error };
    throw error;
  }
}

/** PE1 */
function held<T>(clock: VirtualClock, given: T | Promise<T>, realMs = holdMs): Promise<T> {
  const work = Promise.resolve(given); // A body of toolsOf, or of plain JavaScript, may be no promise.
  const patience = new Promise<void>((resolve) => setTimeout(resolve, realMs).unref());
  void clock.hold(
    Promise.race([
      work.then(
        () => undefined,
        () => undefined,
      ),
      patience,
    ]),
  );
  return work;
}
