import type { SentDocument } from "../../../protocol/documents/stored.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseIntentId, parseSagaId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import { settleIntent } from "../../client/send.ts";
import { checkOutput, readRegistry, viewingBy } from "../../client/registry.ts";
import { type IntentView, readView } from "../../views/view.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { parseJson } from "../frame/json.ts";

/** Says how a deferred call, or an effect in doubt, ended. */
export const settle = defineCommand({
  name: "settle",
  summary: "say how a deferred call or an effect in doubt ended",
  positionals: {
    saga: { help: "the saga's id" },
    intent: { help: "the call, as `sagamesh inspect` lists it" },
    result: { help: `{"succeeded": OUTPUT}, {"failed": "why"}, or the output itself` },
  },
  options: {},
  examples: [`sagamesh settle hire-41 7-0 '{"succeeded":{"slot":"2026-03-03T10:00:00Z"}}'`],
  run: async ({ saga: sagaId, intent: intentId, result: text }, context) => {
    const saga = parseSagaId(sagaId);
    const intent = parseIntentId(intentId);
    const result = readResult(parseJson(text, "the result"));
    return withMesh(context, async ({ deps, ports }) => {
      const registered = await readRegistry(ports.registry);
      const view = await readView(ports, saga, viewingBy(registered));
      const viewed = view.intents.find((one) => one.intent.id === intent);
      if (viewed === undefined) throw new MeshError("INTENT_UNKNOWN", `${saga} has no intent ${intent}`);
      if (viewed.intent.kind !== "tool")
        throw new MeshError(
          "INTENT_UNKNOWN",
          `${intent} of ${saga} is a ${viewed.intent.kind}, not a call of a tool`,
        );
      if (!isOpenTo(viewed, result))
        throw new MeshError(
          "INTENT_UNKNOWN",
          `${intent} of ${saga} is settled already: ${viewed.outcome} in turn ${viewed.settledTurn ?? "?"}`,
        );
      if ("succeeded" in result) checkOutput(registered, viewed.intent.name, result.succeeded);
      await settleIntent(deps, { saga, intent, attempt: viewed.attempt }, result);
      const document: SentDocument = { saga, sent: "result", intent };
      context.output.print(document, () => `the result of ${intent} is stored for ${saga}`);
      return 0;
    });
  },
});

/** A late success corrects whatever was taken for none; a failure only what is open or in doubt. The host judges. */
function isOpenTo({ outcome }: IntentView, result: { succeeded: Json } | { failed: string }): boolean {
  if (outcome === undefined || outcome === "in_doubt") return true;
  return "succeeded" in result && outcome !== "succeeded";
}

function readResult(value: Json): { succeeded: Json } | { failed: string } {
  if (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length === 1
  ) {
    const { succeeded, failed } = value;
    if (succeeded !== undefined) return { succeeded };
    if (typeof failed === "string") return { failed };
  }
  return { succeeded: value };
}
