/** A saga whose machine reads chance as it begins. */
import { defineApp, defineSaga } from "sagamesh";
import { createMachine } from "xstate";
import { z } from "zod";

const odd = defineSaga({
  ...{ name: "odd", version: 1, input: z.null(), output: z.any() },
  machine: createMachine({ id: "odd", context: () => ({ id: crypto.randomUUID() }) }),
});

export default defineApp({ sagas: [odd] });
