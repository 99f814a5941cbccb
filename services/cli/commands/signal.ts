import type { SentDocument } from "../../../protocol/documents/stored.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { signalSaga } from "../../client/signal.ts";
import { storedText, waitingOf } from "../../client/unserved.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { earlyOption } from "../frame/early.ts";
import { parseJsonOrText } from "../frame/json.ts";

/** Sends a signal to a saga. */
export const signal = defineCommand({
  name: "signal",
  summary: "send a signal to a saga",
  details:
    "Name and data are checked by what hosts have registered; an id that was never started is SAGA_UNKNOWN at once. A saga\n" +
    "whose start is stored, and which no host has taken yet, gets the signal once it begins. A plain word is a text. Every saga takes cancel, pause,\n" +
    "resume and flagged; an agent also instruct (new instructions from a human) and rate_limited (milliseconds in which\n" +
    "its model is not asked).",
  positionals: {
    saga: { help: "the saga's id" },
    name: { help: "a signal that its definition declares, or one that every saga takes" },
    data: { help: "JSON, or a plain text", optional: true, json: "whole" },
  },
  options: {
    id: { type: "string", hint: "KEY", help: "the same id again is the same signal; minted unless given" },
    early: earlyOption,
  },
  examples: [
    `sagamesh signal hire-41 instruct "Only candidates from Lisbon."`,
    `sagamesh signal hire-41 recruiter_note '{"text":"Tuesday only"}' --id note-1`,
  ],
  run: async ({ saga: sagaId, name, data: text, id, early }, context) => {
    const saga = parseSagaId(sagaId);
    const data = text === undefined ? null : parseJsonOrText(text, "the data");
    return withMesh(context, async ({ deps }) => {
      await signalSaga(deps, saga, { name, data, id, early });
      const waiting = await waitingOf(deps, saga);
      const document: SentDocument = { saga, sent: "signal", name, ...waiting };
      context.output.print(document, () => storedText(`signal ${name} is stored for ${saga}`, waiting));
      return 0;
    });
  },
});
