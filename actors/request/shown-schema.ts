/**
 * Shown schema: what a model is told of the input of a call.
 *
 * HW1 Whatever `readWhole` takes, the shown schema takes: showing only ever widens. But for an intersection of which one
 *     side is open: that side keeps what the other forbids deeper down, and of this the model is shown the other's word.
 * HW2 An object that is closed is shown closed (`additionalProperties: false`), the nested ones too; one that its
 *     author left open is shown open. A schema that says itself how it is shown, a server's, is shown word for word.
 */
import { z } from "zod";

type Shown = Record<string, unknown>;

/** A schema as a model is shown it. Throws zod's error where it cannot be said in JSON Schema. */
export function shownSchema(schema: z.ZodType): Shown {
  const isSaidByItself = schema._zod.toJSONSchema !== undefined;
  const { $schema: _dialect, ...shown } = z.toJSONSchema(schema, {
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type === "object" && def.catchall === undefined) jsonSchema.additionalProperties = false;
    },
  });
  if (!isSaidByItself) openJoined(shown, shown);
  return shown;
}

/**
 * zod joins the sides of an intersection into one object. Where it cannot (a side that refers to itself, say), each
 * would forbid the members of the other: such sides are left open (HW1). Works on a schema that is nobody else's yet.
 */
function openJoined(value: unknown, root: Shown): void {
  if (Array.isArray(value)) return value.forEach((one) => openJoined(one, root));
  if (!isShown(value)) return;
  for (const side of shownIn(value["allOf"])) open(side, root);
  for (const member of Object.values(value)) openJoined(member, root);
}

function open(side: Shown, root: Shown): void {
  if (side["additionalProperties"] === false) delete side["additionalProperties"];
  for (const option of [side["anyOf"], side["oneOf"]].flatMap(shownIn)) open(option, root);
  const { $ref } = side;
  if (typeof $ref !== "string") return;
  const steps = $ref.split("/").slice(1); // "#", then the way; names as zod writes them hold no slash.
  const named = steps.reduce<unknown>((at, step) => (isShown(at) ? at[step] : undefined), root);
  if (isShown(named) && named["additionalProperties"] === false) open(named, root);
}

const shownIn = (value: unknown): Shown[] => (Array.isArray(value) ? value.filter(isShown) : []);

const isShown = (value: unknown): value is Shown =>
  typeof value === "object" && value !== null && !Array.isArray(value);
