/** Windowed: a list of rows of one height, of which only those in sight are there. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Props<T> {
  readonly items: readonly T[];
  readonly height: number;
  readonly label: string;
  readonly keyOf: (item: T) => string;
  readonly row: (item: T, place: number) => ComponentChildren;
  /** Kept in sight when it changes. */
  readonly place: number | undefined;
  /** Whether the end is kept in sight as the list grows there, while a reader is there. */
  readonly follows: boolean;
}

/** Rows above and below what is in sight, so that a quick scroll shows no gap. */
const beyond = 12;

export function Windowed<T>({ items, height, label, keyOf, row, place, follows }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const end = items.at(-1);
  const endKey = end === undefined ? undefined : keyOf(end);
  const isAtEnd = useRef(true);
  const [view, setView] = useState({ top: 0, height: 800 });
  const look = () => {
    const own = box.current;
    if (own === null) return;
    isAtEnd.current = own.scrollTop + own.clientHeight >= own.scrollHeight - height;
    setView({ top: own.scrollTop, height: own.clientHeight });
  };
  useEffect(() => {
    look();
    const watch = new ResizeObserver(look);
    if (box.current !== null) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const own = box.current;
    if (own !== null && follows && isAtEnd.current && place === undefined) own.scrollTop = own.scrollHeight;
  }, [endKey, follows, place]);
  useEffect(() => {
    const own = box.current;
    if (own === null || place === undefined) return;
    const [top, bottom] = [place * height, (place + 1) * height];
    if (top < own.scrollTop) own.scrollTop = top - height;
    else if (bottom > own.scrollTop + own.clientHeight) own.scrollTop = bottom + height - own.clientHeight;
  }, [place, height]);
  const first = Math.max(0, Math.floor(view.top / height) - beyond);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / height) + beyond);
  return (
    <div class="windowed" ref={box} onScroll={look} tabIndex={0} role="region" aria-label={label}>
      <ol style={{ height: `${items.length * height}px` }}>
        {items.slice(first, last).map((item, k) => (
          <li key={keyOf(item)} style={{ top: `${(first + k) * height}px`, height: `${height}px` }}>
            {row(item, first + k)}
          </li>
        ))}
      </ol>
    </div>
  );
}
