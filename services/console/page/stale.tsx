/** Stale: how old an answer of the tables is, and whether something was stored since. */
import { useEffect, useState } from "preact/hooks";
import { useLive } from "./live.ts";
import { useNow, When } from "./marks.tsx";

interface Props {
  /** When it was answered, by the server's clock. */
  readonly at: number;
  readonly again: () => void;
}

/** The tables are asked when a person wants it: each question is a process, and fills them up to now. */
export function Stale({ at, again }: Props) {
  const now = useNow(5_000);
  const [isOlder, setOlder] = useState(false);
  useEffect(() => setOlder(false), [at]);
  useLive("moved", () => setOlder(true));
  useLive("back", () => setOlder(true));
  return (
    <span class="stale muted">
      asked <When at={at} now={now} />
      {isOlder ? "; something happened since" : ""} <button onClick={again}>Ask again</button>
    </span>
  );
}
