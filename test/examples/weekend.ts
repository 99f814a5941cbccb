// The README's saga: a room is held, the card is refused, the room is released.
import { setup } from "xstate";
import { z } from "zod";
import { compensation, defineApp, defineSaga, defineTool, NotPerformed, toActors } from "sagamesh";

const Stay = z.object({ guest: z.string(), cents: z.int().positive() });

const releaseRoom = defineTool({
  name: "release_room", description: "Give a held room back.", effect: "idempotent",
  input: z.object({ heldWithKey: z.string() }), output: z.object({}),
  perform: async ({ heldWithKey }) => { console.error(`hotel: ${heldWithKey} released`); return {}; },
});
const holdRoom = defineTool({
  name: "hold_room", description: "Hold a room.", effect: "idempotent", input: Stay, output: z.object({}),
  compensation: { tool: releaseRoom, input: ({ key }) => ({ heldWithKey: key }) },
  perform: async ({ guest }, { key }) => { console.error(`hotel: room held for ${guest} under ${key}`); return {}; },
});
const chargeCard = defineTool({
  name: "charge_card", description: "Charge the card.", effect: "once", input: Stay, output: z.object({ receipt: z.string() }),
  compensation: "point_of_no_return",
  perform: async ({ cents }, { key }) => {
    if (cents > 50_000) throw new NotPerformed("the card is refused", { retry: false });
    return { receipt: key };
  },
});

const machine = setup({
  types: { input: {} as z.infer<typeof Stay>, context: {} as z.infer<typeof Stay> },
  actors: toActors({ holdRoom, chargeCard, compensation }),
}).createMachine({
  id: "weekend", initial: "holding", context: ({ input }) => input,
  states: {
    holding: { invoke: { src: "holdRoom", input: ({ context }) => context, onDone: "charging", onError: "undoing" } },
    charging: { invoke: { src: "chargeCard", input: ({ context }) => context, onDone: "booked", onError: "undoing" } },
    undoing: { invoke: { src: "compensation", input: { because: "no room or no money" }, onDone: "notBooked" } },
    booked: { type: "final" },
    notBooked: { type: "final", tags: "failed" },
  },
  output: ({ context }) => ({ guest: context.guest }),
});

export const weekend = defineSaga({ name: "weekend", version: 1, input: Stay, output: z.object({ guest: z.string() }), signals: {}, machine });
export default defineApp({ sagas: [weekend] });
