/** A saga that counts its signals, and its ledger as a host stores it, of as many turns as a test asks for. */
import { assign, setup } from "xstate";
import { z } from "zod";
import { defineSaga } from "../../actors/saga/define.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import { encodeJson } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import type { Event } from "../../protocol/event.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { ledgerVersion, toStored, type Turn } from "../../protocol/turn.ts";
import { defineApp } from "../../services/app/app.ts";
import type { StoredMessage } from "../../services/wire/ports.ts";
import { definitionSetBy, traceIdOf, turnHeaders } from "../../services/wire/turn-headers.ts";

export const tickingSaga = parseSagaId("ticking");
const sentAt = Date.UTC(2026, 0, 1);

/** The application; `onTick` is told of each signal that its machine takes. */
export function tickingApp(onTick: () => void = () => undefined) {
  const machine = setup({
    types: { context: {} as { ticks: number } },
    actions: {
      count: assign({
        ticks: ({ context }) => {
          onTick();
          return context.ticks + 1;
        },
      }),
    },
  }).createMachine({ id: "ticking", context: { ticks: 0 }, on: { tick: { actions: "count" } } });
  const saga = defineSaga({
    name: "ticking",
    version: 1,
    input: z.object({}),
    output: z.object({}),
    signals: { tick: z.object({}) },
    machine,
  });
  return { saga, app: defineApp({ sagas: [saga] }) };
}

/** Its ledger: a start, and a turn for each signal. */
export function tickingLedger(turns: number): StoredMessage[] {
  const { definition } = tickingApp().saga;
  const { name, version, hash } = definition;
  let state: SagaState | undefined;
  let prev = "";
  return Array.from({ length: turns }, (_, k) => {
    const at = sentAt + k;
    const event: Event =
      k === 0
        ? { type: "start", definition: { name, version, hash }, input: {} }
        : { type: "signal", name: "tick", id: `t${k}`, data: {}, sentAt: at, from: "test" };
    const decided = decideTurn(definition, state, { saga: tickingSaga, at, events: [event] });
    ({ state } = decided);
    const { steps } = decided;
    const turn: Turn = { v: ledgerVersion, saga: tickingSaga, turn: k + 1, at, host: "h", prev, steps };
    const data = encodeJson(toStored(turn));
    prev = chainHash(data);
    const headers = turnHeaders(turn, prev, {
      definition: definitionSetBy(turn) ?? definition,
      traceId: traceIdOf(tickingSaga),
    });
    return { subject: `saga.${tickingSaga}.ledger`, seq: k + 1, headers, data, storedAt: at };
  });
}
