/**
 * Pausable: what `pause` and `resume` are about. A tool or model is paused for the whole mesh (throttled.ts), a saga by
 * a signal of its own.
 */
import type { SentDocument } from "../../../protocol/documents/stored.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { ThrottleKind } from "../../../protocol/throttle.ts";
import { signalSaga } from "../../client/signal.ts";
import type { SagaView } from "../../views/view.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";

export const pausableWords = {
  kind: { help: "saga, tool or model", choices: ["saga", "tool", "model"] },
  name: { help: "its id, or its name" },
} as const;

export const treeOption = {
  type: "boolean",
  help: "of a saga: its open sub-agents too, and theirs",
} as const;

export const isSaga = (kind: string): boolean => kind === "saga";

/** The kind of what is no saga. Throws USAGE for another word, and for what a tool or model has no use for. */
export function readOneThing(kind: string, tree: boolean, reason?: string): ThrottleKind {
  const parsed = ThrottleKind.safeParse(kind);
  if (!parsed.success) throw new MeshError("USAGE", `"${kind}" is neither saga, tool nor model`);
  if (tree) throw new MeshError("USAGE", `--tree is for a saga; a ${kind} has no sub-agents`);
  if (reason !== undefined)
    throw new MeshError("USAGE", `--reason is kept with a saga; a ${kind} just goes on`);
  return parsed.data;
}

/**
 * Sends `pause` or `resume` to a saga. Done again it is taken again: a pause has a new reason, a resume of what runs
 * acknowledges its flags. Throws BAD_ID, SAGA_UNKNOWN, SAGA_ENDED, INPUT_INVALID.
 */
export async function steerSaga(
  context: CommandContext,
  signal: "pause" | "resume",
  id: string,
  { reason, tree }: { readonly reason: string | undefined; readonly tree: boolean },
): Promise<number> {
  const saga = parseSagaId(id);
  const data = { ...(reason === undefined ? {} : { reason }), ...(tree ? { tree } : {}) };
  return withMesh(context, async ({ deps }) => {
    const isOver = ({ phase }: SagaView) => phase === "ended" || (phase === "ending" && signal === "pause");
    await signalSaga(deps, saga, { name: signal, data, isOver });
    const document: SentDocument = { saga, sent: "signal", name: signal };
    context.output.print(document, () =>
      signal === "pause"
        ? `pause is stored for ${saga}: what it had begun ends, nothing more begins; \`sagamesh resume saga ${saga}\` lets it go on`
        : `resume is stored for ${saga}`,
    );
    return 0;
  });
}
