/** Value: JSON as text, folded where it is large. Whatever a saga holds is shown as text, markup too. */
import { useState } from "preact/hooks";
import { count, many } from "./words.ts";

/** Larger ones are folded at first. */
const openMax = 600;
const textMax = 400;

export function Value({
  value,
  name,
  depth = 0,
}: {
  readonly value: unknown;
  readonly name?: string;
  readonly depth?: number;
}) {
  const label = name === undefined ? null : <span class="key">{name}: </span>;
  if (typeof value !== "object" || value === null)
    return (
      <div class="leaf">
        {label}
        <Leaf value={value} />
      </div>
    );
  const entries = Object.entries(value) as [string, unknown][];
  const isList = Array.isArray(value);
  if (entries.length === 0)
    return (
      <div class="leaf">
        {label}
        {isList ? "[ ]" : "{ }"}
      </div>
    );
  const size = JSON.stringify(value).length;
  return (
    <details class="node" open={depth < 3 && size <= openMax}>
      <summary>
        {label}
        <span class="muted">
          {isList ? many(entries.length, "element") : many(entries.length, "member")}
          {size > openMax ? `, ${count(size)} characters` : ""}
        </span>
      </summary>
      <div class="members">
        {entries.map(([key, member]) => (
          <Value key={key} name={key} value={member} depth={depth + 1} />
        ))}
      </div>
    </details>
  );
}

function Leaf({ value }: { readonly value: unknown }) {
  if (typeof value === "string") return <Text text={value} />;
  return <span class={`of-${typeof value}`}>{value === undefined ? "nothing" : JSON.stringify(value)}</span>;
}

/** A text with its line breaks; a long one is cut until somebody wants all of it. */
export function Text({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= textMax || isWhole) return <span class="text">{text}</span>;
  return (
    <span class="text">
      {text.slice(0, textMax)}…{" "}
      <button class="link" onClick={() => setWhole(true)}>
        {count(text.length - textMax)} more characters
      </button>
    </span>
  );
}
