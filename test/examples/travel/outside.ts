/**
 * The outside world of the journey: airlines, hotels and a railway that keep books of their own. What they do depends on
 * what they were asked and told before, never on the time. A key that was used stays used.
 */
import { NotPerformed } from "sagamesh";

export type Kind = "flight" | "hotel" | "train";

export interface Offer {
  readonly id: string;
  /** The whole price, USD. */
  readonly price: number;
  readonly direct: boolean;
  /** Of a hotel. */
  readonly stars?: number;
  readonly start: string;
  readonly end: string;
}

/** Where to and when: `SFO-Berlin` for a ride, `Berlin` for a stay of so many nights. */
export interface Wish {
  readonly place: string;
  readonly date: string;
  readonly nights?: number | undefined;
}

export interface Entry {
  readonly key: string;
  readonly kind: Kind;
  readonly place: string;
  readonly reference: string;
  readonly offer: Offer;
  readonly status: "held" | "withdrawn" | "cancelled";
}

export interface Outside {
  find(kind: Kind, wish: Wish): Offer[];
  /** Throws NotPerformed where it is refused; refused once, it is sold out. */
  book(key: string, kind: Kind, wish: Wish, offer: string): Entry;
  /** Gives back what was booked under a key, and says how much is refunded. */
  cancel(key: string): number;
  /** What a provider does on its own: the booking is void, and there is no other for that place if `soldOut`. */
  withdraw(reference: string, soldOut: boolean): void;
  /** Refuses bookings for these places although it offers them. */
  refuse(...places: readonly string[]): void;
  /** Hotels at a place charge so much a night, by stars. */
  charge(place: string, nightly: Readonly<Record<number, number>>): void;
  /** Every booking ever made, in order. */
  readonly entries: () => readonly Entry[];
  /** The places of bookings given back, in order, each time that one was. */
  readonly cancelled: readonly string[];
  reset(): void;
}

const DAY = 86_400_000;
const at = (date: string, hour: number, days = 0): string =>
  new Date(Date.parse(`${date.slice(0, 10)}T00:00:00Z`) + days * DAY + hour * 3_600_000).toISOString();
const nightly: Readonly<Record<number, number>> = { 2: 70, 3: 110, 4: 160, 5: 420 };

export function createOutside(): Outside {
  const byKey = new Map<string, Entry>();
  const cancelled: string[] = [];
  const soldOut = new Set<string>();
  const refused = new Set<string>();
  const charges = new Map<string, Readonly<Record<number, number>>>();

  const offersOf = (kind: Kind, { place, date, nights = 1 }: Wish): Offer[] => {
    if (kind === "flight")
      return [
        { id: `${place} via Zurich`, price: 780, direct: false, start: at(date, 9), end: at(date, 12, 1) },
        { id: `${place} direct`, price: 920, direct: true, start: at(date, 14), end: at(date, 8, 1) },
      ];
    if (kind === "train")
      return [
        { id: `${place} express`, price: 64, direct: true, start: at(date, 13), end: at(date, 18) },
        { id: `${place} regional`, price: 41, direct: false, start: at(date, 12), end: at(date, 21) },
      ];
    return Object.entries(charges.get(place) ?? nightly).map(([stars, price]) => ({
      ...{ id: `${place} ${stars} stars`, price: price * nights, direct: true, stars: Number(stars) },
      // A ride ends before the stay begins and begins after it: the door is open in between.
      ...{ start: at(date, place === "Berlin" ? 15 : 21), end: at(date, 10, nights) },
    }));
  };
  const find = (kind: Kind, wish: Wish) => (soldOut.has(wish.place) ? [] : offersOf(kind, wish));

  return {
    find,
    book(key, kind, wish, id) {
      const before = byKey.get(key);
      if (before !== undefined) return before;
      const offer = find(kind, wish).find((one) => one.id === id);
      if (offer === undefined || refused.has(wish.place)) {
        soldOut.add(wish.place);
        throw new NotPerformed(`${id} is sold out`, { retry: false });
      }
      const reference = `${kind.slice(0, 2).toUpperCase()}-${byKey.size + 1}`;
      const entry: Entry = { key, kind, place: wish.place, reference, offer, status: "held" };
      byKey.set(key, entry);
      return entry;
    },
    cancel(key) {
      const entry = byKey.get(key);
      if (entry === undefined) return 0;
      if (entry.status !== "cancelled") cancelled.push(entry.place);
      byKey.set(key, { ...entry, status: "cancelled" });
      return entry.offer.price;
    },
    withdraw(reference, isGone) {
      for (const [key, entry] of byKey)
        if (entry.reference === reference) {
          byKey.set(key, { ...entry, status: "withdrawn" });
          if (isGone) soldOut.add(entry.place);
        }
    },
    refuse(...places) {
      for (const place of places) refused.add(place);
    },
    charge: (place, prices) => void charges.set(place, prices),
    entries: () => [...byKey.values()],
    cancelled,
    reset() {
      for (const one of [byKey, soldOut, refused, charges]) one.clear();
      cancelled.length = 0;
    },
  };
}

/** What is held, by place. */
export const heldAt = (outside: Outside): string[] =>
  outside.entries().flatMap(({ status, place }) => (status === "held" ? [place] : []));
