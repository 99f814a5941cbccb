/** Memory: what an agent remembers, as far as it is known here, beside what a person is about to change of it. */
import type { MemoryDocument } from "../documents.ts";
import { useAsked } from "./api.ts";
import { Refused, Waiting } from "./marks.tsx";
import { Value } from "./value.tsx";
import { many } from "./words.ts";

export const memoryPath = (saga: string): string => `/sagas/${encodeURIComponent(saga)}/memory`;

/** For who edits it: also why it is not known. */
export function MemoryNow({ saga }: { readonly saga: string }) {
  const { data, error } = useAsked<MemoryDocument>(`${memoryPath(saga)}?now`);
  if (error !== undefined) return <Refused error={error} />;
  if (data === undefined) return <Waiting lines={2} />;
  return (
    <section class="memory" aria-label="what it remembers">
      {data.memory === undefined ? (
        <p class="muted">What it remembers now is not known here: {data.why}.</p>
      ) : (
        <Remembers data={data} />
      )}
      <p class="muted">
        <code>{'{"set":{…}}'}</code> changes members, <code>{'{"replace":…}'}</code> all of it.
      </p>
    </section>
  );
}

export function Remembers({ data: { memory, turn = 0, of } }: { readonly data: MemoryDocument }) {
  return (
    <>
      <p class="muted">
        After turn {turn}
        {of > turn ? `; ${many(of - turn, "turn")} came since, and may have changed it` : ", its last"}
      </p>
      <Value value={memory} />
    </>
  );
}
