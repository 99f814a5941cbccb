/**
 * Agenda: what will happen in a run's own time, in order. Of two things at one time the one noted first comes first.
 */
export interface Due<T> {
  readonly at: number;
  readonly what: T;
}

export interface Agenda<T> {
  note(at: number, what: T): void;
  next(): Due<T> | undefined;
}

export function createAgenda<T>(): Agenda<T> {
  const noted: Due<T>[] = [];
  return {
    note: (at, what) => {
      const place = noted.findIndex((other) => other.at > at);
      noted.splice(place === -1 ? noted.length : place, 0, { at, what });
    },
    next: () => noted.shift(),
  };
}
