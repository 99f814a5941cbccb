/**
 * By pages: ledgers that are read a few messages at a time, and how much of them whoever reads them holds.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { encodeJson } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import type { Event } from "../../protocol/event.ts";
import { toStored, type Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import type { LedgerSource } from "../../services/ledger/reader.ts";
import type { StoredMessage } from "../../services/wire/ports.ts";
import { type RecordedLedger, sourceOf } from "./recorded.ts";
import { tickingApp, tickingLedger, tickingSaga } from "./ticking.ts";
import { longHelper } from "./told-ledgers.ts";

/** The same turns as a host stores them. */
export function stored(app: App, turns: readonly Turn[]): RecordedLedger {
  let prev = "";
  const messages = turns.map((turn, k): StoredMessage => {
    const data = encodeJson(toStored({ ...turn, prev }));
    prev = chainHash(data);
    return { subject: "", seq: k + 1, headers: {}, data, storedAt: turn.at };
  });
  return { app, saga: turns[0]!.saga, messages, blobs: new Map() };
}

/** Read so many messages at a time, whatever is asked for. `asked` is told of each request. */
export function inPagesOf(
  size: number,
  ledger: RecordedLedger,
  asked: (after: number, through: number) => void = () => undefined,
): LedgerSource {
  const { messages } = ledger;
  const { last } = sourceOf(ledger).ledger;
  return {
    blobs: sourceOf(ledger).blobs,
    ledger: {
      last,
      read: async (_saga, after, through, most = Number.POSITIVE_INFINITY) => {
        await new Promise(setImmediate);
        asked(after, through);
        return messages.filter(({ seq }) => seq > after && seq <= through).slice(0, Math.min(most, size));
      },
    },
  };
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** How many events of what was read are held: those that a collection of garbage leaves. */
export function watching(): { saw(turn: Turn): void; count(): void; held(): number } {
  const events: WeakRef<Event>[] = [];
  let held = 0;
  return {
    saw: ({ steps }) => {
      for (const { event } of steps) events.push(new WeakRef(event));
    },
    count: () => {
      collect();
      held = Math.max(held, events.filter((one) => one.deref() !== undefined).length);
    },
    held: () => held,
  };
}

/** Of a machine that takes one timer after the other. */
export const machines = (turns: number): RecordedLedger => ({
  ...{ app: tickingApp().app, saga: tickingSaga, messages: tickingLedger(turns), blobs: new Map() },
});

/** The longest of `agents`. */
export const longest = 600;
let agent: ReturnType<typeof longHelper> | undefined;

/** Of an agent that calls one tool after the other. */
export function agents(turns: number): RecordedLedger {
  const { app, turns: all } = (agent ??= longHelper(longest / 2));
  return stored(app, all.slice(0, turns));
}
