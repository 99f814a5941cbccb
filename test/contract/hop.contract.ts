/** InboxPort between two hosts: an input that is handed on, and whose it is then. */
import { describe, expect, test } from "vitest";
import type { Consumption, Delivery, HandedOn, Ports } from "../../services/wire/ports.ts";
import { bytes, consumeInbox, type MeshUnderTest, text } from "./mesh-under-test.ts";

const put = (ports: Ports, subject: string) =>
  ports.inbox.publish({ subject, data: bytes(subject), headers: { "Saga-Event": subject }, msgId: subject });

/** One process that consumes everything, and hears what it hands on to `other`. */
async function twoHosts(ports: Ports, takes: (handed: HandedOn) => boolean = () => true, inFlightMax = 100) {
  const owned: Delivery[] = [];
  const handed: HandedOn[] = [];
  const consumption = await consumeInbox(ports, (delivery) => owned.push(delivery), inFlightMax);
  const receiving: Consumption = await ports.inbox.receive("other", (one) => {
    if (!takes(one)) return false;
    handed.push(one);
    return true;
  });
  const stop = async () => {
    await consumption.stop();
    await receiving.stop();
  };
  return { owned, handed, receiving, stop };
}

export const hopContract = (mesh: () => MeshUnderTest): void => {
  describe("inbox, from host to host", () => {
    test("what is handed on is the same input, with a word of what it is meant for", async () => {
      const { ports, until } = mesh();
      const { owned, handed, stop } = await twoHosts(ports);
      await put(ports, "saga.a.signal.go");
      await until("it is delivered", () => owned.length === 1);
      expect(await ports.inbox.handOn("other", owned[0]!, "clerk@2#abc")).toBe(true);
      const { delivery, meant } = handed[0]!;
      const { subject, seq, headers, storedAt, deliveries } = owned[0]!;
      expect(meant).toBe("clerk@2#abc");
      expect(delivery).toMatchObject({ subject, seq, headers, storedAt, deliveries });
      expect(Object.keys(delivery.headers)).toEqual(Object.keys(headers));
      expect(text(delivery.data)).toBe("saga.a.signal.go");
      await delivery.ack();
      await stop();
    });

    test("its receiver's ack is the last that is heard of it", async () => {
      const { ports, until, wait, inboxAckWaitMs } = mesh();
      const { owned, handed, stop } = await twoHosts(ports);
      await put(ports, "saga.a.start");
      await until("it is delivered", () => owned.length === 1);
      await ports.inbox.handOn("other", owned[0]!, "");
      await handed[0]!.delivery.ack();
      await wait(inboxAckWaitMs + 500);
      expect(owned).toHaveLength(1);
      await stop();
    });

    test("what its receiver gives back comes to the partition's host again, counted", async () => {
      const { ports, until } = mesh();
      const { owned, handed, stop } = await twoHosts(ports);
      await put(ports, "saga.a.start");
      await until("it is delivered", () => owned.length === 1);
      await ports.inbox.handOn("other", owned[0]!, "");
      await handed[0]!.delivery.nak();
      await until("it is delivered again", () => owned.length === 2);
      expect(owned[1]).toMatchObject({ seq: owned[0]!.seq, deliveries: 2 });
      await owned[1]!.ack();
      await stop();
    });

    test("its receiver keeps its lease; when that falls silent it comes back, though its sender goes on", async () => {
      const { ports, until, wait, inboxAckWaitMs } = mesh();
      const { owned, handed, stop } = await twoHosts(ports);
      await put(ports, "saga.a.start");
      await until("it is delivered", () => owned.length === 1);
      await ports.inbox.handOn("other", owned[0]!, "");
      for (let beat = 0; beat < 6; beat++) {
        await wait(inboxAckWaitMs / 3);
        handed[0]!.delivery.working();
      }
      expect(owned).toHaveLength(1);
      await until("it comes back", () => owned.length === 2, inboxAckWaitMs + 2_000);
      await owned[1]!.ack();
      await stop();
    });

    test("what is not taken is its sender's still", async () => {
      const { ports, until } = mesh();
      const { owned, handed, stop } = await twoHosts(ports, () => false);
      await put(ports, "saga.a.start");
      await until("it is delivered", () => owned.length === 1);
      expect(await ports.inbox.handOn("other", owned[0]!, "")).toBe(false);
      expect(handed).toHaveLength(0);
      await owned[0]!.nak();
      await until("it comes back", () => owned.length === 2);
      await owned[1]!.ack();
      await stop();
    });

    test("a host that is not there, or listens no more, takes nothing", async () => {
      const { ports, until } = mesh();
      const { owned, handed, receiving, stop } = await twoHosts(ports);
      await put(ports, "saga.a.start");
      await until("it is delivered", () => owned.length === 1);
      expect(await ports.inbox.handOn("no-such-host", owned[0]!, "")).toBe(false);
      await receiving.stop();
      expect(await ports.inbox.handOn("other", owned[0]!, "")).toBe(false);
      expect(handed).toHaveLength(0);
      await owned[0]!.ack();
      await stop();
    });

    test("what was not delivered by the inbox cannot be handed on", async () => {
      const { ports, until } = mesh();
      const { owned, handed, stop } = await twoHosts(ports);
      await put(ports, "saga.a.start");
      await until("it is delivered", () => owned.length === 1);
      expect(await ports.inbox.handOn("other", { ...owned[0]! }, "")).toBe(false);
      expect(handed).toHaveLength(0);
      await owned[0]!.ack();
      await stop();
    });

    test("what is settled cannot be handed on", async () => {
      const { ports, until } = mesh();
      const { owned, handed, stop } = await twoHosts(ports);
      await put(ports, "saga.a.start");
      await until("it is delivered", () => owned.length === 1);
      await owned[0]!.ack();
      expect(await ports.inbox.handOn("other", owned[0]!, "")).toBe(false);
      expect(handed).toHaveLength(0);
      await stop();
    });

    test("what was handed on takes no place of its sender's", async () => {
      const { ports, until } = mesh();
      const { owned, handed, stop } = await twoHosts(ports, () => true, 1);
      for (const name of ["x", "y", "z"]) await put(ports, `saga.a.signal.${name}`);
      for (let n = 1; n <= 3; n++) {
        await until("the next one is delivered", () => owned.length === n);
        await ports.inbox.handOn("other", owned[n - 1]!, "");
      }
      expect(handed).toHaveLength(3);
      for (const { delivery } of handed) await delivery.ack();
      await stop();
    });
  });
};
