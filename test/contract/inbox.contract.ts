/** InboxPort without its timers: partitions, leases, redelivery, bounds. */
import { describe, expect, test } from "vitest";
import { parseSagaId } from "../../protocol/ids.ts";
import { parseInboxSubject, subjects } from "../../protocol/subjects.ts";
import type { Delivery, Ports } from "../../services/wire/ports.ts";
import { bytes, codeOf, consumeInbox, type MeshUnderTest, sagaId, text } from "./mesh-under-test.ts";

const put = (ports: Ports, subject: string, msgId?: string) =>
  ports.inbox.publish({ subject, data: bytes(subject), headers: { "Saga-Event": subject }, msgId });

export const inboxContract = (mesh: () => MeshUnderTest): void => {
  describe("inbox", () => {
    test("an input is delivered with its address, body, headers, time and a count of one", async () => {
      const { ports, until } = mesh();
      const got: Delivery[] = [];
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery));
      const { seq } = await ports.inbox.publish({
        subject: "saga.hiring-1.signal.cancel",
        data: bytes('{"reason":"budget"}'),
        headers: { "Saga-Event": "e1" },
        msgId: "hiring-1:e1",
      });
      await until("it is delivered", () => got.length === 1);
      const [delivery] = got;
      expect(parseInboxSubject(delivery!.subject)).toEqual({
        kind: "signal",
        saga: "hiring-1",
        name: "cancel",
      });
      expect(delivery).toMatchObject({
        seq,
        deliveries: 1,
        headers: { "Saga-Event": "e1", "Nats-Msg-Id": "hiring-1:e1" },
      });
      expect(text(delivery!.data)).toBe('{"reason":"budget"}');
      expect(Math.abs(delivery!.storedAt - (await ports.claims.now()))).toBeLessThan(2_000);
      await consumption.stop();
    });

    test("every kind of input is taken, and one of no kind is not", async () => {
      const { ports, until } = mesh();
      const kinds: string[] = [];
      const consumption = await consumeInbox(ports, (delivery) => {
        kinds.push(parseInboxSubject(delivery.subject).kind);
        void delivery.ack();
      });
      for (const rest of ["start", "signal.go", "result.1-0", "task.1-1"]) await put(ports, `saga.a.${rest}`);
      await until("four inputs are delivered", () => kinds.length === 4);
      // A start has a way of its own; the others come as they were stored.
      expect(kinds.filter((kind) => kind !== "start")).toEqual(["signal", "result", "task"]);
      expect(kinds).toContain("start");
      await expect(put(ports, "saga.a.nonsense.x")).rejects.toMatchObject({ name: "MeshError" });
      await consumption.stop();
    });

    test("all inputs of a saga come to one partition, and sagas are spread over all of them", async () => {
      const { ports, until } = mesh();
      const partitionsOf = new Map<string, Set<number>>();
      const consumption = await consumeInbox(ports, (delivery, partition) => {
        const { saga } = parseInboxSubject(delivery.subject);
        partitionsOf.set(saga, (partitionsOf.get(saga) ?? new Set()).add(partition));
        void delivery.ack();
      });
      const sagas = Array.from({ length: 60 }, (_, i) => `spread-${i}`);
      await Promise.all(
        sagas.flatMap((saga) => [put(ports, `saga.${saga}.start`), put(ports, `saga.${saga}.signal.go`)]),
      );
      await until("every saga is seen", () => partitionsOf.size === 60);
      expect([...partitionsOf.values()].every((partitions) => partitions.size === 1)).toBe(true);
      expect(new Set([...partitionsOf.values()].flatMap((partitions) => [...partitions])).size).toBe(
        ports.inbox.partitions,
      );
      await consumption.stop();
    });

    test("the inputs of a saga are delivered in the order of their publishing", async () => {
      const { ports, until } = mesh();
      const got: string[] = [];
      for (let i = 0; i < 30; i++) await put(ports, `saga.a.signal.s${i}`);
      const consumption = await consumeInbox(
        ports,
        (delivery) => {
          got.push(text(delivery.data));
          void delivery.ack();
        },
        4,
      );
      await until("all are delivered", () => got.length === 30);
      expect(got).toEqual(Array.from({ length: 30 }, (_, i) => `saga.a.signal.s${i}`));
      await consumption.stop();
    });

    test("an input published twice under one Msg-Id is stored once", async () => {
      const { ports, wait, until } = mesh();
      const first = await put(ports, "saga.a.start", "a:start");
      expect(first.duplicate).toBe(false);
      expect(await put(ports, "saga.a.start", "a:start")).toMatchObject({ duplicate: true });
      expect((await put(ports, "saga.a.signal.go")).duplicate).toBe(false);
      expect((await put(ports, "saga.a.signal.go")).duplicate).toBe(false);
      const got: string[] = [];
      const consumption = await consumeInbox(ports, (delivery) => {
        got.push(parseInboxSubject(delivery.subject).kind);
        void delivery.ack();
      });
      await until("the start and both signals are delivered", () => got.length === 3);
      await wait(100);
      expect(got.sort()).toEqual(["signal", "signal", "start"]); // In what order is another test's matter.
      await consumption.stop();
    });

    test("a Msg-Id is remembered after its input was acked", async () => {
      const { ports, until } = mesh();
      let acked = 0;
      const consumption = await consumeInbox(ports, (delivery) => void delivery.ack().then(() => acked++));
      await put(ports, "saga.a.start", "a:start");
      await until("it is acked", () => acked === 1);
      expect(await put(ports, "saga.a.start", "a:start")).toMatchObject({ duplicate: true });
      await consumption.stop();
    });

    test("a start that expects to be the only one is refused while another stands, and not after that was acked", async () => {
      const { ports, until } = mesh();
      const start = (body: string, saga = "a") =>
        ports.inbox.publish({
          subject: `saga.${saga}.start`,
          data: bytes(body),
          headers: {},
          msgId: `${saga}:${body}`,
          expectedSeq: 0,
        });
      const { seq } = await start("one");
      expect(await codeOf(start("two"))).toBe("WRONG_SEQUENCE");
      const standing = await ports.inbox.standingStart(sagaId("a"));
      expect([standing?.seq, text(standing!.data)]).toEqual([seq, "one"]);
      expect(await ports.inbox.standingStart(sagaId("b"))).toBeUndefined();
      expect((await start("one", "b")).duplicate).toBe(false);
      let acked = 0;
      const consumption = await consumeInbox(ports, (delivery) => void delivery.ack().then(() => acked++));
      await until("both are acked", () => acked === 2);
      await consumption.stop();
      await until("none stands", async () => (await ports.inbox.standingStart(sagaId("a"))) === undefined);
      expect(await start("one")).toMatchObject({ duplicate: true });
      expect((await start("two")).duplicate).toBe(false);
    });

    test("of many starts of one saga that expect to be the only one, one is stored", async () => {
      const { ports, until } = mesh();
      const begin = async (n: number): Promise<string> => {
        const message = { data: bytes(`${n}`), headers: {}, msgId: `a:${n}`, expectedSeq: 0 } as const;
        return codeOf(ports.inbox.publish({ ...message, subject: "saga.a.start" }));
      };
      const codes = await Promise.all([1, 2, 3, 4, 5].map(begin));
      expect(codes.filter((code) => code === "none")).toHaveLength(1);
      expect(codes.every((code) => ["none", "WRONG_SEQUENCE", "WRITE_IN_FLIGHT"].includes(code))).toBe(true);
      await until("one stands", async () => (await ports.inbox.standingStart(sagaId("a"))) !== undefined);
      expect(text((await ports.inbox.standingStart(sagaId("a")))!.data)).toBe(`${codes.indexOf("none") + 1}`);
    });

    test("an expectation sees a start that was stored without one, and other inputs not at all", async () => {
      const { ports } = mesh();
      await put(ports, "saga.a.start");
      await put(ports, "saga.b.signal.go");
      const only = (saga: string) =>
        codeOf(
          ports.inbox.publish({
            subject: `saga.${saga}.start`,
            data: bytes(""),
            headers: {},
            expectedSeq: 0,
          }),
        );
      expect(await only("a")).toBe("WRONG_SEQUENCE");
      expect(await only("b")).toBe("none");
    });

    test("an acked input does not come back", async () => {
      const { ports, wait, until, inboxAckWaitMs } = mesh();
      let deliveries = 0;
      await put(ports, "saga.a.start");
      const consumption = await consumeInbox(ports, (delivery) => {
        deliveries++;
        void delivery.ack();
      });
      await until("it is delivered", () => deliveries === 1);
      await wait(inboxAckWaitMs + 300);
      expect(deliveries).toBe(1);
      await consumption.stop();
    });

    test("an un-acked input comes back after its lease, and not before", async () => {
      const { ports, wait, until, inboxAckWaitMs } = mesh();
      const got: Delivery[] = [];
      await put(ports, "saga.a.start");
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery));
      await until("it is delivered", () => got.length === 1);
      await wait(inboxAckWaitMs / 2);
      expect(got).toHaveLength(1);
      await until("it comes back", () => got.length === 2, inboxAckWaitMs + 2_000);
      expect(got[1]).toMatchObject({ seq: got[0]!.seq, deliveries: 2, storedAt: got[0]!.storedAt });
      await got[1]!.ack();
      await consumption.stop();
    });

    test("working keeps the lease for as long as it is said", async () => {
      const { ports, wait, until, inboxAckWaitMs } = mesh();
      const got: Delivery[] = [];
      await put(ports, "saga.a.start");
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery));
      await until("it is delivered", () => got.length === 1);
      for (let beat = 0; beat < 8; beat++) {
        await wait(inboxAckWaitMs / 4);
        got[0]!.working();
      }
      expect(got).toHaveLength(1);
      await until("it comes back when nothing is said", () => got.length === 2, inboxAckWaitMs + 2_000);
      await got[1]!.ack();
      await consumption.stop();
    });

    test("a naked input comes back at once", async () => {
      const { ports, until, inboxAckWaitMs } = mesh();
      const got: Delivery[] = [];
      await put(ports, "saga.a.start");
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery));
      await until("it is delivered", () => got.length === 1);
      await got[0]!.nak();
      await until("it comes back", () => got.length === 2, inboxAckWaitMs / 2);
      expect(got[1]!.deliveries).toBe(2);
      await got[1]!.ack();
      await consumption.stop();
    });

    test("an input naked with a delay comes back after it, and not before", async () => {
      const { ports, wait, until } = mesh();
      const got: Delivery[] = [];
      await put(ports, "saga.a.start");
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery));
      await until("it is delivered", () => got.length === 1);
      await got[0]!.nak(600);
      await wait(450);
      expect(got).toHaveLength(1);
      await until("it comes back", () => got.length === 2, 1_000);
      await got[1]!.ack();
      await consumption.stop();
    });

    test("an input naked with a delay comes back at once when it is called back, once and counted", async () => {
      const { ports, wait, until } = mesh();
      const got: Delivery[] = [];
      await put(ports, "saga.a.start");
      await put(ports, "saga.a.signal.go");
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery));
      await until("they are delivered", () => got.length === 2);
      const recalls = got.map((delivery) => ports.inbox.recall(delivery));
      for (const delivery of got) await delivery.nak(60_000);
      await wait(200);
      expect(got).toHaveLength(2);
      for (const recall of recalls) recall?.();
      await until("they come back", () => got.length === 4, 1_000);
      expect(got.slice(2).map(({ deliveries }) => deliveries)).toEqual([2, 2]);
      for (const delivery of got.slice(2)) await delivery.ack();
      await wait(200);
      expect(got).toHaveLength(4);
      await consumption.stop();
    });

    test("an input called back by one that consumes no more comes to the next that does", async () => {
      const { ports, until } = mesh();
      const got: Delivery[] = [];
      await put(ports, "saga.a.signal.go");
      const first = await consumeInbox(ports, (delivery) => got.push(delivery));
      await until("it is delivered", () => got.length === 1);
      const recall = ports.inbox.recall(got[0]!);
      await got[0]!.nak(60_000);
      await first.stop();
      recall?.();
      const next = await consumeInbox(ports, (delivery) => got.push(delivery));
      await until("it comes back", () => got.length === 2, 2_000);
      await got[1]!.ack();
      await next.stop();
    });

    test("no more than inFlightMax inputs are un-acked at once, and an ack makes room", async () => {
      const { ports, wait, until } = mesh();
      const got: Delivery[] = [];
      for (let i = 0; i < 6; i++) await put(ports, `saga.a.signal.s${i}`);
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery), 2);
      await until("two are delivered", () => got.length === 2);
      await wait(200);
      expect(got).toHaveLength(2);
      await got[0]!.ack();
      await until("a third is delivered", () => got.length === 3);
      await got[1]!.nak(5_000);
      await until("a fourth is delivered in the place of the naked one", () => got.length === 4);
      await wait(100);
      expect(got).toHaveLength(4);
      await consumption.stop();
    });

    test("after stop nothing is delivered, and what is held can still be acked", async () => {
      const { ports, wait, until, inboxAckWaitMs } = mesh();
      const first: Delivery[] = [];
      await put(ports, "saga.a.start");
      const stopped = await consumeInbox(ports, (delivery) => first.push(delivery));
      await until("it is delivered", () => first.length === 1);
      await stopped.stop();
      await put(ports, "saga.a.signal.go");
      await wait(100);
      expect(first).toHaveLength(1);
      await first[0]!.ack();
      const second: Delivery[] = [];
      const consumption = await consumeInbox(ports, (delivery) => second.push(delivery));
      await until("the signal is delivered elsewhere", () => second.length === 1);
      await wait(inboxAckWaitMs + 300);
      expect(new Set(second.map((delivery) => parseInboxSubject(delivery.subject).kind))).toEqual(
        new Set(["signal"]),
      );
      await consumption.stop();
    });

    test("an input taken by a host that then stops comes to another after the lease", async () => {
      const { ports, until, inboxAckWaitMs } = mesh();
      let taken = 0;
      await put(ports, "saga.a.start");
      const stopped = await consumeInbox(ports, () => taken++);
      await until("it is delivered", () => taken === 1);
      await stopped.stop();
      const got: Delivery[] = [];
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery));
      await until("it is delivered elsewhere", () => got.length === 1, inboxAckWaitMs + 2_000);
      expect(got[0]!.deliveries).toBe(2);
      await got[0]!.ack();
      await consumption.stop();
    });

    test("a line break in a header's value adds no header", async () => {
      const { ports, until } = mesh();
      const got: Delivery[] = [];
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery));
      await ports.inbox.publish({
        subject: "saga.a.start",
        data: bytes(""),
        headers: { "Saga-Reason": "one\r\nSaga-Event: two" },
      });
      await until("it is delivered", () => got.length === 1);
      expect(got[0]!.headers).toEqual({ "Saga-Reason": "one Saga-Event: two" });
      await consumption.stop();
    });

    test("starts beyond their bound wait, while what reaches a saga goes by", async () => {
      const { ports, wait, until } = mesh();
      const got: Delivery[] = [];
      let startsMax = 1;
      const consumption = await consumeInbox(
        ports,
        (delivery) => got.push(delivery),
        10,
        () => startsMax,
      );
      const publish = (subject: string) =>
        ports.inbox.publish({ subject, data: bytes("{}"), headers: {}, msgId: subject });
      const saga = parseSagaId("a"); // One saga, so all is in one partition.
      for (let n = 0; n < 4; n++)
        await ports.inbox.publish({ subject: subjects.start(saga), data: bytes("{}"), headers: {} });
      for (const name of ["x", "y"]) await publish(subjects.signal(saga, name));
      const count = (kind: string) => got.filter(({ subject }) => subject.split(".")[3] === kind).length;
      await until("the signals are there", () => count("signal") === 2);
      await wait(200);
      expect(count("start")).toBe(1);
      startsMax = 3;
      await got.find(({ subject }) => subject.endsWith(".start"))!.ack();
      await until("more starts come, as many as may be held now", () => count("start") === 4);
      await consumption.stop();
    });

    test("what is out is given back in another's name, counted; what was settled by then, or came since, is left", async () => {
      const { ports, until } = mesh();
      const got: Delivery[] = [];
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery));
      for (const subject of ["saga.a.start", "saga.a.signal.one", "saga.a.signal.two", "saga.b.signal.one"])
        await put(ports, subject);
      await until("they are delivered", () => got.length === 4);
      const outstanding = await ports.inbox.outstanding(
        Array.from({ length: ports.inbox.partitions }, (_, p) => p),
      );
      const since = await put(ports, "saga.a.signal.since");
      await until("that is delivered", () => got.length === 5);
      const settled = got.find(({ subject }) => subject.endsWith("a.signal.two"))!;
      await settled.ack();
      const back = got.filter((one) => one !== settled && one.seq !== since.seq);
      await outstanding.giveBack();
      await until("they come back", () => got.length >= 8);
      const again = got.slice(5).map(({ seq, deliveries }) => [seq, deliveries]);
      expect(again.sort()).toEqual(back.map(({ seq }) => [seq, 2]).sort());
      for (const delivery of got) await delivery.ack();
      await consumption.stop();
    });

    test("what was given back with a delay is out, and is given back in another's name as well", async () => {
      const { ports, wait, until } = mesh();
      const got: Delivery[] = [];
      const consumption = await consumeInbox(ports, (delivery) => got.push(delivery));
      await put(ports, "saga.a.signal.one");
      await until("it is delivered", () => got.length === 1);
      await got[0]!.nak(60_000);
      await wait(100);
      const all = Array.from({ length: ports.inbox.partitions }, (_, p) => p);
      await (await ports.inbox.outstanding(all)).giveBack();
      await until("it comes back", () => got.length === 2, 2_000);
      await got[1]!.ack();
      await consumption.stop();
    });

    test("where nothing is out nothing is given back", async () => {
      const { ports } = mesh();
      const outstanding = await ports.inbox.outstanding([0]);
      await outstanding.giveBack();
      expect((await ports.inbox.stock()).sagas.size).toBe(0);
    });
  });
};
