import type { SentDocument } from "../../../protocol/documents/stored.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { sendSignal } from "../../client/send.ts";
import { readView } from "../../views/view.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";

/** Asks a saga to undo what it did and end. */
export const cancel = defineCommand({
  name: "cancel",
  summary: "ask a saga to undo what it did and end",
  positionals: { saga: { help: "the saga's id" } },
  options: { reason: { type: "string", hint: "TEXT", help: "recorded with the cancellation" } },
  examples: [`sagamesh cancel hire-41 --reason "the role is filled"`],
  run: async ({ saga: id, reason }, context) => {
    const saga = parseSagaId(id);
    return withMesh(context, async ({ deps, ports }) => {
      const view = await readView(ports, saga);
      if (view.phase === "ended") throw new MeshError("SAGA_ENDED", `${saga} has ended: ${view.status}`);
      await sendSignal(deps, saga, "cancel", { reason: reason ?? `cancelled by ${deps.from}` });
      const document: SentDocument = { saga, sent: "signal", name: "cancel" };
      context.output.print(
        document,
        () => `cancel is stored for ${saga}; \`sagamesh tail ${saga}\` shows how it ends`,
      );
      return 0;
    });
  },
});
