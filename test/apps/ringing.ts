/** A saga that waits a while and ends: what is due, when, is all there is to it. */
import { setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga } from "sagamesh";

const machine = setup({ types: { context: {} } }).createMachine({
  id: "ringing",
  initial: "waiting",
  context: {},
  states: { waiting: { after: { 2_000: "rung" } }, rung: { type: "final" } },
  output: {},
});

export const ringing = defineSaga({
  name: "ringing",
  version: 1,
  input: z.object({}),
  output: z.object({}),
  signals: {},
  machine,
});

export default defineApp({ sagas: [ringing] });
