/** Forger: who may publish on ledgers, has read them, and has the codec, the application and the hosts' own code, but no key. */
import { nkeys } from "@nats-io/nats-core";
import { assign, setup } from "xstate";
import { z } from "zod";
import { defineSaga } from "../../actors/saga/define.ts";
import { toActors } from "../../actors/machine/callable.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import type { Event } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type App, defineApp } from "../../services/app/app.ts";
import { loadSaga } from "../../services/host/load.ts";
import { encodeTurn, traceIdOf } from "../../services/host/turn-message.ts";
import { nkeySigner } from "../../services/nats/nkeys.ts";
import type { Clock, Ports } from "../../services/wire/ports.ts";
import type { Signer } from "../../services/wire/signing.ts";
import { hold } from "./workbench.ts";

export const newSigner = (): Signer =>
  nkeySigner(Buffer.from(nkeys.createUser().getSeed()).toString(), "test");

/** Signs other bytes than those it is given, under the name of the key. */
export const wronglyAs = (signer: Signer): Signer => ({
  publicKey: signer.publicKey,
  sign: (bytes) => signer.sign(Buffer.concat([bytes, Buffer.from("!")])),
});

/** Counts notes, calls a tool where it is told to, until it is told to end. */
export const clerk = defineSaga({
  name: "clerk",
  version: 1,
  input: z.object({}),
  output: z.object({}),
  signals: { note: z.object({}), pay: z.object({}), close: z.object({}) },
  whenEarly: "keep",
  machine: setup({
    types: { context: {} as { notes: number } },
    actors: toActors({ hold }),
  }).createMachine({
    context: { notes: 0 },
    initial: "open",
    output: {},
    states: {
      open: {
        on: {
          note: { actions: assign({ notes: ({ context }) => context.notes + 1 }) },
          pay: "paying",
          close: "closed",
        },
      },
      paying: { invoke: { id: "hold", src: "hold", input: { of: "money" }, onDone: "open" } },
      closed: { type: "final" },
    },
  }),
});

export const clerkApp: App = defineApp({ sagas: [clerk] });

let forged = 0;
export const signalled = (name: string): Event => ({
  ...{ type: "signal", name, data: {}, id: `forged-${++forged}`, from: "somebody", sentAt: 1 },
});

/** The next turn of the saga as its host would append it, signed with what is given. */
export async function forge(
  { ports, clock }: { readonly ports: Ports; readonly clock: Clock },
  saga: SagaId,
  event: Event,
  signer?: Signer,
) {
  const { trust: _, ...bare } = ports;
  const loaded = await loadSaga({ ports: bare, clock } as never, clerkApp, saga);
  if (loaded === undefined || "type" in loaded) throw new Error(`${saga} has no turn to follow`);
  const { definition, state, head } = loaded;
  const at = clock.now();
  const decided = decideTurn(definition, state, { saga, at, events: [event] });
  const deps = { ports, clock, signer, incarnation: "forger", signal: AbortSignal.timeout(60_000) };
  const message = await encodeTurn(
    deps as never,
    { definition, traceId: traceIdOf(saga) },
    head,
    decided,
    at,
  );
  return { message, definition, state: decided.state, turn: head.turn + 1 };
}
