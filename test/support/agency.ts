/** An agency for the trip booking example, with its own account of what is booked. */
import { NotPerformed } from "sagamesh";
import type { Agency } from "../examples/trip-booking.ts";

export const trip = { traveller: "ada", to: "LIS", deadlineMs: 60_000 };

/** An agency that keeps its own account and remembers keys, as a real one must. */
export function createAgency(
  refuses?: string,
  isReady: (what: string) => Promise<unknown> = async () => undefined,
) {
  const booked = new Map<string, string>();
  /** Also what was cancelled since: a key that was used stays used. */
  const known = new Map<string, string>();
  const cancelled: string[] = [];
  const agency: Agency = {
    reserve: async (what, { key }) => {
      if (what === refuses) throw new NotPerformed(`no ${what} left`, { retry: false });
      await isReady(what);
      booked.set(key, what);
      known.set(key, what);
      return { bookingId: `${what}-1` };
    },
    find: async (key) => {
      const what = known.get(key);
      return what === undefined ? undefined : { bookingId: `${what}-1` };
    },
    cancel: async ({ madeWithKey }) => {
      const what = booked.get(madeWithKey);
      if (what !== undefined) cancelled.push(what); // The second time there is nothing to cancel.
      booked.delete(madeWithKey);
    },
  };
  return { agency, booked, cancelled, clear: () => [booked.clear(), known.clear(), cancelled.splice(0)] };
}
