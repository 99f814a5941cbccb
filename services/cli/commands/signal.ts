import type { SentDocument } from "../../../protocol/documents/stored.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { sendSignal } from "../../client/send.ts";
import { checkSignal, readRegistry } from "../../client/registry.ts";
import { readView } from "../../views/view.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { parseJsonOrText } from "../frame/json.ts";

/** Sends a signal to a saga. */
export const signal = defineCommand({
  name: "signal",
  summary: "send a signal to a saga",
  details:
    "Name and data are checked by what hosts have registered. A plain word is a text. Every saga takes cancel, pause,\n" +
    "resume and flagged; an agent also instruct (new instructions from a human) and rate_limited (milliseconds in which\n" +
    "its model is not asked).",
  positionals: {
    saga: { help: "the saga's id" },
    name: { help: "a signal that its definition declares, or one that every saga takes" },
    data: { help: "JSON, or a plain text", optional: true },
  },
  options: {
    id: { type: "string", hint: "KEY", help: "the same id again is the same signal; minted unless given" },
  },
  examples: [
    `sagamesh signal hire-41 instruct "Only candidates from Lisbon."`,
    `sagamesh signal hire-41 recruiter_note '{"text":"Tuesday only"}' --id note-1`,
  ],
  run: async ({ saga: sagaId, name, data: text, id }, context) => {
    const saga = parseSagaId(sagaId);
    const data = text === undefined ? null : parseJsonOrText(text, "the data");
    return withMesh(context, async ({ deps, ports }) => {
      const view = await readView(ports, saga);
      if (view.phase === "ended") throw new MeshError("SAGA_ENDED", `${saga} has ended: ${view.status}`);
      checkSignal(await readRegistry(ports.registry), view.definition, name, data);
      await sendSignal(deps, saga, name, data, id);
      const document: SentDocument = { saga, sent: "signal", name };
      context.output.print(document, () => `signal ${name} is stored for ${saga}`);
      return 0;
    });
  },
});
