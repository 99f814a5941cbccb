/** WorkPort: a queue per contract of a tool, shared by its workers. */
import { describe, expect, test } from "vitest";
import type { Delivery, Ports } from "../../services/wire/ports.ts";
import type { ContractRef } from "../../protocol/tool.ts";
import { bytes, type MeshUnderTest, text } from "./mesh-under-test.ts";

const ref = (name: string, contract = "c1"): ContractRef => ({ name, contract });

const put = (ports: Ports, tool: string, id: string, contract?: string) =>
  ports.work.publish(ref(tool, contract), {
    data: bytes(id),
    headers: { "Saga-Intent": id },
    msgId: `hiring-1:${id}:${contract ?? ""}`,
  });

/** Opens the queue, and takes from it. */
async function serve(
  ports: Ports,
  to: ContractRef,
  { inFlightMax, concurrencyMax }: { inFlightMax: number; concurrencyMax?: number },
  take: (delivery: Delivery) => void,
) {
  await ports.work.open(to, { concurrencyMax });
  return ports.work.consume(to, { inFlightMax }, take);
}

export const workContract = (mesh: () => MeshUnderTest): void => {
  describe("work", () => {
    test("an intent comes to a worker of its tool and to no other", async () => {
      const { ports, wait, until } = mesh();
      const mail: Delivery[] = [];
      const search: Delivery[] = [];
      const consumptions = [
        await serve(ports, ref("send_mail"), { inFlightMax: 5 }, (delivery) => mail.push(delivery)),
        await serve(ports, ref("search"), { inFlightMax: 5 }, (delivery) => search.push(delivery)),
      ];
      await put(ports, "send_mail", "1-0");
      await until("it is delivered", () => mail.length === 1);
      expect(mail[0]).toMatchObject({
        deliveries: 1,
        subject: "work.send_mail.c1",
        headers: { "Saga-Intent": "1-0" },
      });
      await mail[0]!.ack();
      await wait(100);
      expect(search).toEqual([]);
      for (const consumption of consumptions) await consumption.stop();
    });

    test("an intent waits until a worker of its tool is there", async () => {
      const { ports, until } = mesh();
      await put(ports, "search", "1-0");
      const got: Delivery[] = [];
      const consumption = await serve(ports, ref("search"), { inFlightMax: 5 }, (delivery) =>
        got.push(delivery),
      );
      await until("it is delivered", () => got.length === 1);
      expect(text(got[0]!.data)).toBe("1-0");
      await got[0]!.ack();
      await consumption.stop();
    });

    test("the stock says when the oldest call of each contract was stored, held or not, until it is acked", async () => {
      const { ports, until } = mesh();
      expect([...(await ports.work.stock())]).toEqual([]);
      const before = await ports.claims.now();
      await put(ports, "search", "1-0");
      await put(ports, "search", "1-1");
      await put(ports, "charge", "1-2", "c2");
      const stock = await ports.work.stock();
      expect([...stock.keys()].sort()).toEqual(["c1", "c2"]);
      expect(stock.get("c1")).toBeGreaterThan(before - 1_000);
      const got: Delivery[] = [];
      const consumption = await serve(ports, ref("search"), { inFlightMax: 5 }, (one) => got.push(one));
      await until("both are delivered", () => got.length === 2);
      expect((await ports.work.stock()).get("c1")).toBe(stock.get("c1"));
      for (const one of got) await one.ack();
      await until("nothing is left of it", async () => !(await ports.work.stock()).has("c1"));
      await consumption.stop();
    });

    test("the sagas whose calls wait since before a time are told, taken or not, until those are acked", async () => {
      const { ports, until, wait } = mesh();
      const sagas = async (before: number) => [...(await ports.work.waiting(before))].sort();
      const soon = async () => (await ports.claims.now()) + 10_000;
      expect(await sagas(await soon())).toEqual([]);
      for (const saga of ["a", "b"])
        await ports.work.publish(ref("search"), {
          ...{ data: bytes("x"), headers: { "Saga-Id": saga }, msgId: saga },
        });
      expect(await sagas(await soon())).toEqual(["a", "b"]);
      expect(await sagas((await ports.claims.now()) - 10_000)).toEqual([]);
      await wait(20);
      const got: Delivery[] = [];
      const consumption = await serve(ports, ref("search"), { inFlightMax: 5 }, (one) => got.push(one));
      await until("both are delivered", () => got.length === 2);
      expect(await sagas(await soon())).toEqual(["a", "b"]);
      await got[0]!.ack();
      await until("one is left", async () => (await sagas(await soon())).length === 1);
      await consumption.stop();
    });

    test("an intent published twice under one Msg-Id is delivered once", async () => {
      const { ports, wait, until } = mesh();
      expect((await put(ports, "search", "1-0")).duplicate).toBe(false);
      expect((await put(ports, "search", "1-0")).duplicate).toBe(true);
      const got: Delivery[] = [];
      const consumption = await serve(ports, ref("search"), { inFlightMax: 5 }, (delivery) => {
        got.push(delivery);
        void delivery.ack();
      });
      await until("it is delivered", () => got.length === 1);
      await wait(100);
      expect(got).toHaveLength(1);
      await consumption.stop();
    });

    test("two workers share the intents, each gets others", async () => {
      const { ports, until } = mesh();
      const got: string[] = [];
      const consumptions = await Promise.all(
        [1, 2].map(() =>
          serve(ports, ref("search"), { inFlightMax: 1 }, (delivery) => {
            got.push(text(delivery.data));
            void delivery.ack();
          }),
        ),
      );
      for (let i = 0; i < 20; i++) await put(ports, "search", `1-${i}`);
      await until("all are delivered", () => got.length === 20);
      expect(new Set(got).size).toBe(20);
      for (const consumption of consumptions) await consumption.stop();
    });

    test("an intent of a worker that died comes to another with a higher count", async () => {
      const { ports, until, workAckWaitMs } = mesh();
      const got: Delivery[] = [];
      await put(ports, "search", "1-0");
      const consumption = await serve(ports, ref("search"), { inFlightMax: 5 }, (delivery) =>
        got.push(delivery),
      );
      await until("it comes back", () => got.length === 2, workAckWaitMs + 2_000);
      expect(got.map((delivery) => delivery.deliveries)).toEqual([1, 2]);
      await got[1]!.ack();
      await consumption.stop();
    });

    test("concurrencyMax bounds the un-acked intents of all workers together", async () => {
      const { ports, wait, until } = mesh();
      const got: Delivery[] = [];
      const consume = () =>
        serve(ports, ref("charge"), { inFlightMax: 5, concurrencyMax: 2 }, (delivery) => got.push(delivery));
      const consumptions = [await consume(), await consume()];
      for (let i = 0; i < 5; i++) await put(ports, "charge", `1-${i}`);
      await until("two are delivered", () => got.length === 2);
      await wait(200);
      expect(got).toHaveLength(2);
      await got[0]!.ack();
      await until("a third is delivered", () => got.length === 3);
      await wait(100);
      expect(got).toHaveLength(3);
      for (const consumption of consumptions) await consumption.stop();
    });

    test("a worker that names another concurrencyMax changes it", async () => {
      const { ports, until } = mesh();
      const got: Delivery[] = [];
      const take = (delivery: Delivery) => got.push(delivery);
      const consumptions = [await serve(ports, ref("charge"), { inFlightMax: 5, concurrencyMax: 1 }, take)];
      for (let i = 0; i < 5; i++) await put(ports, "charge", `1-${i}`);
      await until("one is delivered", () => got.length === 1);
      consumptions.push(await serve(ports, ref("charge"), { inFlightMax: 5, concurrencyMax: 3 }, take));
      await until("three are delivered", () => got.length === 3);
      for (const consumption of consumptions) await consumption.stop();
    });

    test("an intent comes to a worker of its contract and to no other of its tool", async () => {
      const { ports, wait, until } = mesh();
      const got: string[] = [];
      const take = (of: string) => (delivery: Delivery) => {
        got.push(`${of} ${delivery.subject}`);
        void delivery.ack();
      };
      const old = await serve(ports, ref("search", "c1"), { inFlightMax: 5 }, take("old"));
      await put(ports, "search", "1-0", "c2");
      await put(ports, "search", "1-1", "c1");
      await until("the one of its contract is delivered", () => got.length === 1);
      await wait(200);
      expect(got).toEqual(["old work.search.c1"]);
      const now = await serve(ports, ref("search", "c2"), { inFlightMax: 5 }, take("now"));
      await until("the other is delivered", () => got.length === 2);
      expect(got[1]).toBe("now work.search.c2");
      for (const consumption of [old, now]) await consumption.stop();
    });

    test("a pause holds for every open contract of the tool, and for no tool whose name begins alike", async () => {
      const { ports, wait, until } = mesh();
      const got: string[] = [];
      const take = (delivery: Delivery) => {
        got.push(delivery.subject);
        void delivery.ack();
      };
      const refs = [ref("charge", "c1"), ref("charge", "c2"), ref("charge-card", "c1")];
      for (const one of refs) await ports.work.open(one, {});
      await ports.work.pause("charge");
      const consumptions = [];
      for (const one of refs) consumptions.push(await ports.work.consume(one, { inFlightMax: 5 }, take));
      await put(ports, "charge", "1-0", "c1");
      await put(ports, "charge", "1-1", "c2");
      await put(ports, "charge-card", "1-2", "c1");
      await until("the other tool is served", () => got.length === 1);
      await wait(300);
      expect(got).toEqual(["work.charge-card.c1"]);
      await ports.work.resume("charge");
      await until("what waited is delivered", () => got.length === 3, 5_000);
      for (const consumption of consumptions) await consumption.stop();
    });

    test("nothing of a paused tool is delivered until it is resumed, and other tools go on", async () => {
      const { ports, wait, until } = mesh();
      await ports.work.open(ref("charge"), {});
      await ports.work.pause("charge");
      const got: string[] = [];
      const take = (delivery: Delivery) => {
        got.push(delivery.subject);
        void delivery.ack();
      };
      const consumptions = [
        await serve(ports, ref("charge"), { inFlightMax: 5 }, take),
        await serve(ports, ref("search"), { inFlightMax: 5 }, take),
      ];
      await put(ports, "charge", "1-0");
      await put(ports, "search", "1-1");
      await until("the other tool is served", () => got.length === 1);
      await wait(300);
      expect(got).toEqual(["work.search.c1"]);
      await ports.work.resume("charge");
      await until("what waited is delivered", () => got.length === 2, 5_000);
      for (const consumption of consumptions) await consumption.stop();
    });
  });
};
