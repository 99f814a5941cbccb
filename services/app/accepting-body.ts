/**
 * Accepting body: calls of an older contract, performed by the body of a newer one.
 *
 * AB1 The call stays one of the older contract: its effect class, its timeout, its output, by which its saga reads what
 *     the body gives. An output that does not fit it is a BAD_RESULT of its saga's, as of any body.
 * AB2 A call that does not become one of the newer contract has not been performed, and no other attempt can change that.
 *     Asked whether an earlier attempt happened, the same says nothing: a worker of the older contract may have made it.
 */
import { type Accepted, type AnyBody, NotPerformed, type Tool } from "../../actors/contract/tool.ts";
import { readWith } from "../../actors/values/schema.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { toolLabel } from "../../protocol/tool.ts";

/** The body of the older contract: `tool` and `body` are the newer. */
export function acceptingBody(tool: Tool, body: AnyBody, { contract: old, input }: Accepted): AnyBody {
  const inputOf = (given: unknown): unknown => {
    const made = attempt(() => (input as (old: unknown) => unknown)(given)); // Read with the older schema before.
    const read = "fault" in made ? made : readWith(tool.input, made.value);
    if ("data" in read) return read.data;
    const why = "fault" in read ? read.fault : read.reason;
    const reason = `a call of ${toolLabel(old)} does not become one of ${toolLabel(tool)}, which accepts it: ${why}`;
    throw new NotPerformed(reason, { retry: false, cause: new MeshError("CALL_INVALID", reason) });
  };
  const asking: Pick<AnyBody, "probe"> = {
    probe: async (key, given) => {
      const made = attempt(() => inputOf(given));
      return "fault" in made || body.probe === undefined
        ? { outcome: "unknown" } // AB2
        : body.probe(key, made.value);
    },
  };
  return {
    perform: async (given, context) => body.perform(inputOf(given), context),
    ...(body.probe === undefined ? {} : asking),
    ...(body.realMs === undefined ? {} : { realMs: body.realMs }),
  };
}

function attempt(make: () => unknown): { readonly value: unknown } | { readonly fault: string } {
  try {
    return { value: make() };
  } catch (error) {
    return { fault: describeError(error) };
  }
}
