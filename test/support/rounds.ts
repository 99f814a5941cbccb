/**
 * A saga that goes round until it is told to stop: a stamp in its host, a charge through a worker. For tests in
 * which what it stands on dies under it, again and again.
 *
 * The outside world is a file to which every act appends a line; it outlives whoever wrote it.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { assign, setup } from "xstate";
import { z } from "zod";
import { defineSaga } from "../../actors/saga/define.ts";
import { toActors } from "../../actors/machine/callable.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { type App, defineApp } from "../../services/app/app.ts";

/** A line of the outside world's account. */
export interface Act {
  readonly tool: string;
  readonly saga: string;
  readonly round: number;
  readonly key: string;
}

export const readAccount = (file: string): Act[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Act);

const At = z.object({ saga: z.string(), round: z.number() });

/** The saga and its application; each act takes `actMs` and then is a line of the account. */
export function roundsApp(account: string, actMs: number) {
  const act = async (tool: string, at: z.infer<typeof At>, key: string) => {
    await delay(actMs);
    appendFileSync(account, `${JSON.stringify({ tool, ...at, key } satisfies Act)}\n`);
    return {};
  };
  const parts = { input: At, output: z.object({}) };
  const stamp = defineTool({
    ...parts,
    ...{ name: "stamp", description: "Stamp.", effect: "idempotent", placement: "host" },
    perform: (at, { key }) => act("stamp", at, key),
  });
  const charge = defineTool({
    ...parts,
    ...{ name: "charge", description: "Charge.", effect: "once", compensation: "point_of_no_return" },
    perform: (at, { key }) => act("charge", at, key),
  });
  const rounds = defineSaga({
    name: "rounds",
    version: 1,
    input: z.object({ saga: z.string() }),
    output: z.object({ rounds: z.number() }),
    signals: { stop: z.null() },
    machine: setup({
      types: {
        context: {} as { saga: string; round: number; stopped: boolean },
        input: {} as { saga: string },
      },
      actors: toActors({ stamp, charge }),
    }).createMachine({
      id: "rounds",
      initial: "stamping",
      context: ({ input }) => ({ saga: input.saga, round: 1, stopped: false }),
      on: { stop: { actions: assign({ stopped: true }) } },
      states: {
        stamping: {
          invoke: {
            src: "stamp",
            input: ({ context: { saga, round } }) => ({ saga, round }),
            onDone: "charging",
          },
        },
        charging: {
          invoke: {
            src: "charge",
            input: ({ context: { saga, round } }) => ({ saga, round }),
            onDone: "judging",
          },
        },
        judging: {
          always: [
            { guard: ({ context }) => context.stopped, target: "done" },
            { target: "stamping", actions: assign({ round: ({ context }) => context.round + 1 }) },
          ],
        },
        done: { type: "final" },
      },
      output: ({ context }) => ({ rounds: context.round }),
    }),
  });
  const app: App = defineApp({ sagas: [rounds] });
  return { rounds, app };
}
