/** InboxPort's durable timers. */
import { describe, expect, test } from "vitest";
import { parseInboxSubject } from "../../protocol/subjects.ts";
import type { Delivery } from "../../services/wire/ports.ts";
import { bytes, consumeInbox, intent, type MeshUnderTest, sagaId } from "./mesh-under-test.ts";

const saga = sagaId("hiring-1");

interface Fired {
  readonly saga: string;
  readonly intent: string;
  readonly at: number;
  readonly partition: number;
  readonly delivery: Delivery;
}

export const timersContract = (mesh: () => MeshUnderTest): void => {
  /** Acks every timer that fires and says when. */
  const watch = async () => {
    const { ports } = mesh();
    const fired: Fired[] = [];
    const consumption = await consumeInbox(ports, (delivery, partition) => {
      const address = parseInboxSubject(delivery.subject);
      if (address.kind === "timer")
        fired.push({
          saga: address.saga,
          intent: address.intent,
          at: delivery.storedAt,
          partition,
          delivery,
        });
      void delivery.ack();
    });
    return { fired, stop: () => consumption.stop() };
  };

  describe("timers", () => {
    test("the stock names armed timers and the sagas with an input that is not acked, and no others", async () => {
      const { ports, until } = mesh();
      const { now } = ports.claims;
      const arm = async (id: string, inMs: number) =>
        ports.inbox.schedule({ saga, intent: intent(id), dueAt: (await now()) + inMs, headers: {} });
      const stock = async () => {
        const { sagas, timers } = await ports.inbox.stock();
        return { sagas: [...sagas].sort(), timers: [...timers].sort() };
      };
      expect(await stock()).toEqual({ sagas: [], timers: [] });
      await arm("1-0", 3_600_000);
      await arm("1-1", 10);
      const start = { subject: "saga.other.start", data: bytes("{}"), headers: {} };
      await ports.inbox.publish(start);
      expect((await stock()).sagas).toContain("other");
      await until("one has fired", async () => (await stock()).sagas.length === 2);
      expect(await stock()).toEqual({ sagas: ["hiring-1", "other"], timers: ["hiring-1.1-0"] });
      const { stop } = await watch();
      await until("they are acked", async () => (await stock()).sagas.length === 0);
      await stop();
      await ports.inbox.unschedule(saga);
      expect(await stock()).toEqual({ sagas: [], timers: [] });
    });

    test("a timer fires once when it is due, as an input of its saga with its headers", async () => {
      const { ports, wait, until } = mesh();
      const { fired, stop } = await watch();
      const dueAt = (await ports.claims.now()) + 700;
      await ports.inbox.schedule({
        saga,
        intent: intent("3-1"),
        dueAt,
        headers: { "Saga-Intent": "3-1", "Saga-Turn": "3" },
      });
      await until("it fires", () => fired.length === 1);
      expect(fired[0]).toMatchObject({ saga, intent: "3-1" });
      expect(fired[0]!.delivery.headers).toMatchObject({ "Saga-Intent": "3-1", "Saga-Turn": "3" });
      expect(fired[0]!.delivery.deliveries).toBe(1);
      expect(fired[0]!.at).toBeGreaterThanOrEqual(dueAt - 5);
      expect(fired[0]!.at).toBeLessThan(dueAt + 1_000);
      await wait(700);
      expect(fired).toHaveLength(1);
      await stop();
    });

    test("a timer fires into the partition of its saga", async () => {
      const { ports, until } = mesh();
      const partitions = new Map<string, Set<number>>();
      const consumption = await consumeInbox(ports, (delivery, partition) => {
        const address = parseInboxSubject(delivery.subject);
        partitions.set(address.kind, (partitions.get(address.kind) ?? new Set()).add(partition));
        void delivery.ack();
      });
      await ports.inbox.publish({ subject: `saga.${saga}.start`, data: bytes(""), headers: {} });
      await ports.inbox.schedule({
        saga,
        intent: intent("1-0"),
        dueAt: (await ports.claims.now()) + 300,
        headers: {},
      });
      await until("both are seen", () => partitions.size === 2);
      expect(partitions.get("timer")).toEqual(partitions.get("start"));
      await consumption.stop();
    });

    test("a timer that is overdue fires at once", async () => {
      const { ports, until } = mesh();
      const { fired, stop } = await watch();
      await ports.inbox.schedule({
        saga,
        intent: intent("1-0"),
        dueAt: (await ports.claims.now()) - 60_000,
        headers: {},
      });
      await until("it fires", () => fired.length === 1, 1_500);
      await stop();
    });

    test("arming a timer again replaces it", async () => {
      const { ports, wait, until } = mesh();
      const { fired, stop } = await watch();
      const now = await ports.claims.now();
      await ports.inbox.schedule({
        saga,
        intent: intent("1-0"),
        dueAt: now + 500,
        headers: { "Saga-Turn": "1" },
      });
      await ports.inbox.schedule({
        saga,
        intent: intent("1-0"),
        dueAt: now + 1_200,
        headers: { "Saga-Turn": "2" },
      });
      await until("it fires", () => fired.length === 1);
      expect(fired[0]!.at).toBeGreaterThanOrEqual(now + 1_195);
      expect(fired[0]!.delivery.headers).toMatchObject({ "Saga-Turn": "2" });
      await wait(500);
      expect(fired).toHaveLength(1);
      await stop();
    });

    test("a disarmed timer does not fire, and the saga's others do", async () => {
      const { ports, wait, until } = mesh();
      const { fired, stop } = await watch();
      const dueAt = (await ports.claims.now()) + 600;
      for (const id of ["1-0", "1-1"])
        await ports.inbox.schedule({ saga, intent: intent(id), dueAt, headers: {} });
      await ports.inbox.unschedule(saga, intent("1-0"));
      await until("the other fires", () => fired.length === 1);
      await wait(400);
      expect(fired.map((timer) => timer.intent)).toEqual(["1-1"]);
      await stop();
    });

    test("disarming a saga disarms all its timers and no other saga's", async () => {
      const { ports, wait, until } = mesh();
      const { fired, stop } = await watch();
      const dueAt = (await ports.claims.now()) + 600;
      for (const id of ["1-0", "1-1"])
        await ports.inbox.schedule({ saga, intent: intent(id), dueAt, headers: {} });
      await ports.inbox.schedule({ saga: sagaId("hiring-12"), intent: intent("1-0"), dueAt, headers: {} });
      await ports.inbox.unschedule(saga);
      await until("the other saga's timer fires", () => fired.length === 1);
      await wait(400);
      expect(fired.map((timer) => timer.saga)).toEqual(["hiring-12"]);
      await stop();
    });

    test("disarming what is not armed is no error", async () => {
      const { ports } = mesh();
      await expect(ports.inbox.unschedule(saga, intent("9-9"))).resolves.toBeUndefined();
      await expect(ports.inbox.unschedule(saga)).resolves.toBeUndefined();
    });
  });
};
