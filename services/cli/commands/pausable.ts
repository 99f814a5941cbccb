/**
 * Pausable: what `pause` and `resume` are about. A tool or model is paused for the whole mesh (throttled.ts), a saga by
 * a signal of its own.
 */
import type { SentDocument } from "../../../protocol/documents/stored.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { sendSignal } from "../../client/send.ts";
import { checkSignal, readRegistry } from "../../client/registry.ts";
import { readView } from "../../views/view.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";

export const pausableWords = {
  kind: { help: "saga, tool or model" },
  name: { help: "its id, or its name" },
} as const;

export const treeOption = {
  type: "boolean",
  help: "of a saga: its open sub-agents too, and theirs",
} as const;

export const isSaga = (kind: string): boolean => kind === "saga";

/** Throws USAGE for what a tool or model has no use for. */
export function assertOneThing(kind: string, tree: boolean, reason?: string): void {
  if (tree) throw new MeshError("USAGE", `--tree is for a saga; a ${kind} has no sub-agents`);
  if (reason !== undefined)
    throw new MeshError("USAGE", `--reason is kept with a saga; a ${kind} just goes on`);
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
  return withMesh(context, async ({ deps, ports }) => {
    const { phase, status, definition } = await readView(ports, saga);
    if (phase === "ended" || (phase === "ending" && signal === "pause"))
      throw new MeshError("SAGA_ENDED", `${saga} has ended: ${status}`);
    checkSignal(await readRegistry(ports.registry), definition, signal, data);
    await sendSignal(deps, saga, signal, data);
    const document: SentDocument = { saga, sent: "signal", name: signal };
    context.output.print(document, () =>
      signal === "pause"
        ? `pause is stored for ${saga}: what it had begun ends, nothing more begins; \`sagamesh resume saga ${saga}\` lets it go on`
        : `resume is stored for ${saga}`,
    );
    return 0;
  });
}
