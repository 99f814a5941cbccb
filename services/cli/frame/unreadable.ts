/** Unreadable: what a command that reads many sagas says of those that it could not read. */
import type { UnreadableDocument, UnreadableSaga } from "../../../protocol/documents/unreadable.ts";
import type { Output } from "./output.ts";
import { table } from "./table.ts";

/**
 * Names them after all else, in a document of their own with --json. The exit code: 1 if there is one, for what was said is
 * not of the whole mesh.
 */
export function tellUnreadable(output: Output, unreadable: readonly UnreadableSaga[]): 0 | 1 {
  if (unreadable.length === 0) return 0;
  const document: UnreadableDocument = { unreadable: [...unreadable] };
  output.print(document, () => unreadableText(unreadable));
  return 1;
}

/** The same as text, for what is one document already; empty where all were read. */
export const unreadableText = (unreadable: readonly UnreadableSaga[]): string =>
  unreadable.length === 0
    ? ""
    : [
        "",
        table(
          ["UNREADABLE", "CODE", "REASON"],
          unreadable.map(({ saga, code, reason }) => [saga, code, reason.replaceAll(/\s*\n\s*/g, " ")]),
        ),
        `${unreadable.length} ${unreadable.length === 1 ? "saga" : "sagas"} could not be read: \`sagamesh verify SAGA\` says more`,
      ].join("\n");
