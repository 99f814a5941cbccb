import type { SentDocument } from "../../../protocol/documents/stored.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { signalSaga } from "../../client/signal.ts";
import { storedText, waitingOf } from "../../client/unserved.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { earlyOption } from "../frame/early.ts";

/** Asks a saga to undo what it did and end. */
export const cancel = defineCommand({
  name: "cancel",
  summary: "ask a saga to undo what it did and end",
  positionals: { saga: { help: "the saga's id" } },
  options: {
    reason: { type: "string", hint: "TEXT", help: "recorded with the cancellation" },
    early: earlyOption,
  },
  examples: [`sagamesh cancel hire-41 --reason "the role is filled"`],
  run: async ({ saga: id, reason, early }, context) => {
    const saga = parseSagaId(id);
    return withMesh(context, async ({ deps }) => {
      const data = { reason: reason ?? `cancelled by ${deps.from}` };
      await signalSaga(deps, saga, { name: "cancel", data, early });
      const waiting = await waitingOf(deps, saga);
      const document: SentDocument = { saga, sent: "signal", name: "cancel", ...waiting };
      context.output.print(document, () =>
        storedText(`cancel is stored for ${saga}; \`sagamesh tail ${saga}\` shows how it ends`, waiting),
      );
      return 0;
    });
  },
});
