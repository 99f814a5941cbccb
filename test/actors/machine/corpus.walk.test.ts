/**
 * Goal: a machine behind the door, and one that is folded as a whole saga, put to rest and revived before every
 * event, is the machine a live XState actor runs. Method: the same path of events through all, compared after each event. Paths come from
 * fast-check with a fixed seed, so that a failure repeats, and from XState's own graph where the events of a
 * machine need no clock.
 */
import * as fc from "fast-check";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { getShortestPaths } from "xstate/graph";
import { doneEvent, errorEvent } from "../../../actors/machine/machine.ts";
import type { MachineEvent } from "../../../actors/machine/actions.ts";
import { type CorpusCase, compareWithLive, createDoorDriver, failure } from "../../support/machine-driver.ts";
import { createFoldDriver } from "../../support/fold-driver.ts";
import { share } from "../../support/share.ts";
import * as children from "./corpus/children.ts";
import * as errors from "./corpus/errors.ts";
import * as events from "./corpus/events.ts";
import * as history from "./corpus/history.ts";
import * as invocations from "./corpus/invocations.ts";
import * as parallel from "./corpus/parallel.ts";
import * as timers from "./corpus/timers.ts";

const corpus: CorpusCase[] = [parallel, history, timers, invocations, children, events, errors].flatMap(
  (file) => Object.values<CorpusCase>(file),
);

const pathsPerMachine = share(45, 150);
const seed = 20261121;

// The reference warns of each event to a child that has ended; the fold shows it on the live lane.
beforeAll(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));

describe.each(corpus)("$name", (of) => {
  test("is the same live and behind the door along random paths", () => {
    const path = fc.array(fc.constantFrom(...of.events), { maxLength: 25 });
    fc.assert(
      fc.property(path, (events) => compareWithLive(of, createDoorDriver, events)),
      { numRuns: pathsPerMachine, seed },
    );
  });

  test("is the same live and as a whole saga along random paths", () => {
    const path = fc.array(fc.constantFrom(...of.events), { maxLength: 25 });
    fc.assert(
      fc.property(path, (events) => compareWithLive(of, createFoldDriver, events)),
      { numRuns: pathsPerMachine / 3, seed },
    );
  });

  test("is the same along the shortest path to every state that needs no clock", () => {
    const timeless = of.events.filter(({ type }) => !/^(advance|late):/.test(type));
    const pseudoOf = new Map(timeless.map((event) => [JSON.stringify(graphEvent(of, event)), event]));
    const paths = getShortestPaths(of.machine, {
      input: of.input,
      events: [...timeless.map((event) => graphEvent(of, event))] as never[],
      serializeState: ({ value, status }: { value: unknown; status: string }) =>
        JSON.stringify([value, status]),
      stopWhen: ({ status }: { status: string }) => status !== "active", // The graph would go on; an actor does not.
      limit: 1_000,
    });
    expect(paths.length).toBeGreaterThan(0);
    for (const { steps } of paths) {
      const path = steps.map(({ event }) => pseudoOf.get(JSON.stringify(event)));
      compareWithLive(
        of,
        createDoorDriver,
        path.filter((event) => event !== undefined),
      ); // The graph's own first is the start.
    }
  });
});

/** The pseudo event as the machine takes it. */
function graphEvent({ results }: CorpusCase, event: MachineEvent): MachineEvent {
  const [kind, id] = event.type.split(/:(.*)/);
  if (kind === "done" && id !== undefined) return doneEvent(id, results?.[id] ?? null);
  if (kind === "error" && id !== undefined) return errorEvent(id, failure);
  return event;
}
