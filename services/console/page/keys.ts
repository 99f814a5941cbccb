/** Keys: what can be done without a mouse. */
import { useEffect, useRef } from "preact/hooks";

export type Keys = Readonly<Record<string, () => void>>;

/** Acts on keys while the component is shown; none while somebody types, but Escape leaves the field. */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
      const { target } = event;
      const isTyping =
        target instanceof HTMLElement &&
        target.closest("input:not([type=range]),textarea,select,dialog") !== null;
      if (isTyping) {
        if (event.key === "Escape") target.blur();
        return;
      }
      // A focused button or link has its own Enter.
      const isPressing =
        event.key === "Enter" && target instanceof HTMLElement && target.closest("a,button,summary");
      const act = current.current[event.key];
      if (act === undefined || isPressing) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

/** What the keys do, for the one who asks. */
export const keyHelp: readonly (readonly [key: string, does: string])[] = [
  ["/", "search"],
  ["j", "the next one"],
  ["k", "the one before"],
  ["Enter", "open it"],
  ["Esc", "close, or leave a field"],
  ["s", "sagas"],
  ["t", "tasks"],
  ["m", "mesh"],
  ["c", "cost"],
  ["?", "these keys"],
];
