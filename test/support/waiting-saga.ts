/** A saga of which two versions decide differently under one hash, as code that was changed without its version. */
import { createMachine } from "xstate";
import { z } from "zod";
import { defineSaga } from "../../actors/saga/define.ts";

/** On `go` it waits a day, or an hour: its hash, which knows no functions, is the same. */
export const waitingFor = (delayMs: number) =>
  defineSaga({
    ...{ name: "sleeper", version: 1, input: z.null(), output: z.any() },
    signals: { go: z.object({}), note: z.object({}) },
    machine: createMachine(
      {
        ...{ id: "sleeper", initial: "idle" },
        on: { note: {} },
        states: {
          idle: { on: { go: "asleep" } },
          asleep: { after: { nap: "done" } },
          done: { type: "final" },
        },
      },
      { delays: { nap: () => delayMs } },
    ),
  });
