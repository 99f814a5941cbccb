/**
 * Route: a kind of definition that only tests know, made from outside: this file and its one registration are all of it.
 * Stops are tools, called one after another; between two of them the saga waits for the signal `onward`. A cancel, or a
 * stop that fails, undoes the stops that were made.
 */
import { assign, enqueueActions, setup } from "xstate";
import { z } from "zod";
import { builtInMachine } from "../../actors/contract/built-in.ts";
import { type CallError, startCall } from "../../actors/contract/calls.ts";
import { commonFaults, define } from "../../actors/contract/define.ts";
import type { Kind, SagaDefinition } from "../../actors/contract/definition.ts";
import type { Tool } from "../../actors/contract/tool.ts";
import { registerKind } from "../../actors/kinds.ts";
import { compensation, toActors } from "../../actors/machine/callable.ts";
import { openMachine } from "../../actors/machine/machine.ts";
import { plainCalls } from "../../actors/request/plain.ts";
import type { Json } from "../../protocol/json.ts";

interface RouteOwn {
  readonly stops: readonly string[];
}

export const routeKind: Kind<RouteOwn> = {
  name: "route",
  takes: [],
  calls: "given",
  hears: "given",
  decision: undefined,
  redoes: false,
  tellsIgnored: false,
  machineInput: (given) => ({ load: given }),
  ...builtInMachine,
  refusalOf: ({ own }, { saga }, { name, data }) => {
    const { to } = data as { to?: string };
    return name !== "onward" || to === undefined || own.stops.includes(to)
      ? undefined
      : { code: "INPUT_INVALID", reason: `${saga}: the route has no stop ${to}` };
  },
  ...plainCalls,
};

registerKind(routeKind);

const signals = { onward: z.object({ to: z.string().optional() }) };

export function defineRoute(config: {
  readonly name: string;
  readonly input: z.ZodType;
  readonly stops: readonly Tool[];
}): SagaDefinition<z.ZodType, z.ZodType, typeof signals> {
  const head = { ...config, version: 1, output: z.array(z.json()), signals };
  const stops = config.stops.map(({ name }) => name);
  return define(routeKind, head, {
    own: { stops },
    machine: openMachine(routeMachine(config.name, config.stops), { builtin: true }),
    callables: config.stops,
    faults: commonFaults(head),
    identity: { stops },
    whenEarly: "keep",
  });
}

type RouteEvent =
  | { type: "sagamesh.result"; call: string; output?: Json; error?: CallError; at: number }
  | { type: "sagamesh.signal"; name: string; data: Json }
  | { type: "sagamesh.cancel"; reason: string };

interface RouteContext {
  readonly load: Json;
  readonly said: readonly Json[];
  readonly ended?: {
    readonly status: "failed" | "cancelled";
    readonly code: string;
    readonly reason: string;
  };
}

const routeMachine = (name: string, stops: readonly Tool[]) =>
  setup({
    types: { context: {} as RouteContext, events: {} as RouteEvent, input: {} as { load: Json } },
    actors: toActors({
      ...Object.fromEntries(stops.map((tool) => [tool.name, tool])),
      "sagamesh.compensation": compensation,
    }),
    actions: {
      "sagamesh.start": (_, _params: { id: string; src: string; input: Json }) => undefined,
      call: enqueueActions(({ context, enqueue }) => {
        const k = context.said.length;
        enqueue(startCall({ call: `stop.${k}`, src: stops[k]?.name ?? "", input: context.load }));
      }),
      note: assign(({ context, event }) =>
        event.type === "sagamesh.result" ? { said: [...context.said, event.output ?? null] } : {},
      ),
      fail: assign(({ event }) => {
        if (event.type === "sagamesh.cancel")
          return { ended: { status: "cancelled" as const, code: "CANCELLED", reason: event.reason } };
        const { code = "", reason = "" } = (event.type === "sagamesh.result" && event.error) || {};
        return { ended: { status: "failed" as const, code, reason } };
      }),
    },
    guards: {
      failed: ({ event }) => event.type === "sagamesh.result" && event.error !== undefined,
      last: ({ context }) => context.said.length + 1 === stops.length,
      cancelled: ({ context }) => context.ended?.status === "cancelled",
    },
  }).createMachine({
    id: name,
    initial: "calling",
    context: ({ input }) => ({ load: input.load, said: [] }),
    on: { "sagamesh.cancel": { target: ".undoing", actions: "fail" } },
    states: {
      calling: {
        entry: "call",
        on: {
          "sagamesh.result": [
            { guard: "failed", target: "undoing", actions: "fail" },
            { guard: "last", target: "there", actions: "note" },
            { target: "waiting", actions: "note" },
          ],
        },
      },
      waiting: { on: { "sagamesh.signal": "calling" } },
      undoing: {
        invoke: {
          id: "compensation",
          src: "sagamesh.compensation",
          input: ({ context }) => ({ because: context.ended?.reason ?? "" }),
          onDone: [{ guard: "cancelled", target: "cancelled" }, { target: "failed" }],
        },
      },
      there: { type: "final" },
      failed: { type: "final", tags: "failed" },
      cancelled: { type: "final", tags: "cancelled" },
    },
    output: ({ context }) => context.ended ?? { status: "completed", output: context.said },
  });
