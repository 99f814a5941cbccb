/**
 * End: what stands at the end of a run, as the last reads of its histories. Without them an acked write that vanished
 * would contradict nothing.
 */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { chainHash } from "../../../protocol/digest.ts";
import { headers, parseInboxSubject } from "../../../protocol/subjects.ts";
import type { Evidence } from "../evidence.ts";
import { readLines } from "../lines.ts";
import { type Call, openHistory } from "./history.ts";
import { inputKey } from "./record.ts";

const file = "history-end.jsonl";

/** Writes the last reads of every ledger and input that the histories of the folder name, beside them. May be done again. */
export async function noteEnd(
  folder: string,
  { messages, ledgers, dead }: Pick<Evidence, "messages" | "ledgers" | "dead">,
): Promise<void> {
  await rm(join(folder, file), { force: true });
  const files = (await readdir(folder)).filter((name) => name.startsWith("history-"));
  const calls = files.flatMap((name) => readLines<{ call?: Call }>(join(folder, name)));
  const taken = takenInputs({ ledgers, dead });
  const stored: Partial<Record<Call["object"], (key: string) => NonNullable<Call["stored"]>>> = {
    ledger: (key) =>
      (messages.get(key as never) ?? []).map(({ seq, data }) => ({ seq, value: chainHash(data) })),
    input: (key) => (taken.has(key) ? [{ seq: 1, value: key }] : []),
  };
  const history = openHistory(join(folder, file), "end");
  const named = new Map(
    calls.flatMap(({ call }) => (call === undefined ? [] : [[`${call.object} ${call.key}`, call]])),
  );
  for (const { object, key } of named.values()) {
    const read = stored[object];
    if (read !== undefined) history.note({ object, key, do: "read", stored: read(key) }, { outcome: "done" });
  }
  history.close();
}

/** The signals and votes that stand in a ledger, or were set aside. */
function takenInputs({ ledgers, dead }: Pick<Evidence, "ledgers" | "dead">): ReadonlySet<string> {
  const inLedgers = [...ledgers].flatMap(([saga, turns]) =>
    turns
      .flatMap(({ turn }) => turn.steps)
      .flatMap(({ event }) =>
        event.type === "signal" || event.type === "task" ? [inputKey(saga, event.type, event.id)] : [],
      ),
  );
  const setAside = dead.flatMap(({ subject, headers: fields }) => {
    if (!subject.startsWith("dead.inbox.")) return [];
    const { kind, saga } = parseInboxSubject((fields[headers.origin] ?? "").split("#")[0] ?? "");
    const id = fields[headers.event];
    return id !== undefined && (kind === "signal" || kind === "task") ? [inputKey(saga, kind, id)] : [];
  });
  return new Set([...inLedgers, ...setAside]);
}
