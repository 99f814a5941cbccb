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

/** What has come is let go of in so large pieces, for each time moves all that is to come. */
const tidiedAt = 1_000;

export function createAgenda<T>(): Agenda<T> {
  let noted: Due<T>[] = [];
  /** How many of them have come. */
  let past = 0;
  return {
    note: (at, what) => {
      // Most are noted for later than all others.
      const place = noted.findLastIndex((other) => other.at <= at) + 1;
      noted.splice(Math.max(place, past), 0, { at, what });
    },
    next: () => {
      const due = noted[past];
      if (due === undefined) return undefined;
      past += 1;
      if (past < tidiedAt) return due;
      noted = noted.slice(past);
      past = 0;
      return due;
    },
  };
}
