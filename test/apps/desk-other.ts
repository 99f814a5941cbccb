/** A next version that would have done something else: it has nothing to book with. */
import { z } from "zod";
import { defineAgent, defineApp } from "sagamesh";
import { clerk } from "./desk-clerk.ts";

const desk = defineAgent({
  ...{ name: "desk", version: 3, description: "Books nothing.", model: "clerk", instructions: "Only wait." },
  ...{ input: z.object({ errand: z.string(), to: z.string() }), output: z.object({ done: z.string() }) },
  ...{ signals: { note: z.object({ text: z.string() }) }, tools: [] },
});

export default defineApp({ sagas: [desk], models: { clerk: clerk(() => "nothing") } });
