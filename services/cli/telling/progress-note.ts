/**
 * Progress note: a sign of life for a person who waits, every two seconds at most. Work that is over sooner says
 * nothing: a script answers at once, and a provider takes seconds for each decision.
 */
export function nowAndThen(note: (line: string) => void): (line: string) => void {
  let last = performance.now();
  return (line) => {
    if (performance.now() - last < everyMs) return;
    last = performance.now();
    note(line);
  };
}

const everyMs = 2_000;
