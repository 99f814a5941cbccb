/**
 * What a contract needs of an implementation: its ports, a way to let time pass, and an end.
 *
 * Memory passes virtual time by `advance`; a real server waits. Contracts wait for facts with `until`, and
 * for a stretch of time with `wait` only where the claim is that nothing happens in it.
 */
import { limits } from "../../protocol/limits.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Consumption, Delivery, Ports } from "../../services/wire/ports.ts";

/** A new, empty mesh; every test gets its own. */
export interface Opened {
  readonly ports: Ports;
  /** Lets virtual time pass, and everything that is due in it happen. Left out: time is real. */
  advance?(ms: number): Promise<void>;
  close(): Promise<void>;
  /** The leases, where they are not those of limits.ts. */
  readonly inboxAckWaitMs?: number;
  readonly workAckWaitMs?: number;
}

export interface MeshUnderTest {
  readonly ports: Ports;
  readonly inboxAckWaitMs: number;
  readonly workAckWaitMs: number;
  wait(ms: number): Promise<void>;
  /** Waits for the condition, at most `ms`; the test fails with `what` if it does not come true. */
  until(what: string, condition: () => boolean | Promise<boolean>, ms?: number): Promise<void>;
  close(): Promise<void>;
}

const virtualStepMs = 20;
const realStepMs = 5;

export const prepareMesh = (opened: Opened): MeshUnderTest => {
  const { advance } = opened;
  const wait = async (ms: number) => {
    if (advance === undefined) return new Promise<void>((resolve) => setTimeout(resolve, ms));
    for (let passed = 0; passed < ms; passed += virtualStepMs)
      await advance(Math.min(virtualStepMs, ms - passed));
  };
  return {
    ports: opened.ports,
    inboxAckWaitMs: opened.inboxAckWaitMs ?? limits.inboxAckWaitMs,
    workAckWaitMs: opened.workAckWaitMs ?? limits.workAckWaitMs,
    wait,
    until: async (what, condition, ms = 5_000) => {
      const stepMs = advance === undefined ? realStepMs : virtualStepMs;
      const giveUpAt = performance.now() + ms;
      for (let passed = 0; !(await condition()); passed += stepMs) {
        if (advance === undefined ? performance.now() > giveUpAt : passed > ms)
          throw new Error(`not within ${ms} ms: ${what}`);
        await wait(stepMs);
      }
    },
    close: () => opened.close(),
  };
};

/** Consumes every partition of the inbox. */
export const consumeInbox = async (
  ports: Ports,
  take: (delivery: Delivery, partition: number) => void,
  inFlightMax = 100,
  startsMax = () => inFlightMax,
): Promise<Consumption> => {
  const partitions = Array.from({ length: ports.inbox.partitions }, (_, partition) => partition);
  const consumptions = await Promise.all(
    partitions.map((partition) =>
      ports.inbox.consume(partition, { inFlightMax, startsMax }, (delivery) => take(delivery, partition)),
    ),
  );
  return {
    stop: async () => {
      for (const consumption of consumptions) await consumption.stop();
    },
  };
};

export const bytes = (text: string): Uint8Array => Buffer.from(text);
export const text = (data: Uint8Array): string => Buffer.from(data).toString();
/** A saga's id, known to be one. */
export const sagaId = (id: string): SagaId => id as SagaId;
export const intent = (id: string): IntentId => id as IntentId;

/** The code a call fails with; "none" if it does not. */
export const codeOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return "none";
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : `no code: ${String(error)}`;
  }
};
