/**
 * Goal: broken off at any request, a growth of the partitions leaves a mesh that has as many as before or as many as were asked for,
 * each of which is consumed; and it can be run again.
 * Method: a real server; the growth's requests are counted, and the first, the second and so on fails, on what the former left behind.
 */
import type { JetStreamManager } from "@nats-io/jetstream";
import { expect, test } from "vitest";
import { countPartitions, growPartitions } from "../../../services/nats/grow-partitions.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { accountOfTest } from "../../support/own-account.ts";

const own = accountOfTest();

/** The manager, whose so-and-so-many-th request fails before it is sent. */
function failingAt(jsm: JetStreamManager, failing: number): { jsm: JetStreamManager; asked: () => number } {
  let asked = 0;
  const wrap = <T extends object>(api: T): T =>
    new Proxy(api, {
      get: (target, name) => {
        const own = Reflect.get(target, name) as unknown;
        if (name === "streams" || name === "consumers") return wrap(own as object);
        if (typeof own !== "function") return own;
        return (...args: unknown[]) => {
          if (++asked === failing) throw new Error("broken off");
          return (own as (...args: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  return { jsm: wrap(jsm), asked: () => asked };
}

test("XN1 broken off at any request, the mesh has as many partitions as before or as asked, all with their consumers", async () => {
  await (await own.opened({ partitions: 2 })).close();
  const found = new Set<number>();
  let isDone = false;
  for (let failing = 1; !isDone; failing++) {
    const { jsm, asked } = failingAt(own.jsm, failing);
    await growPartitions({ jsm, requests: own.requests }, 6).catch(() => undefined);
    isDone = asked() < failing;
    const count = await countPartitions(own);
    found.add(count);
    expect([2, 6]).toContain(count);
    const ports = await own.opened();
    expect(ports.inbox.partitions).toBe(count);
    const consumers = new Set((await own.jsm.consumers.list("INBOX").next()).map(({ name }) => name));
    for (let partition = 0; partition < count; partition++)
      expect([`inbox-${partition}`, `starts-${partition}`].every((name) => consumers.has(name))).toBe(true);
    for (let k = 0; k < 20; k++)
      await ports.inbox.publish({
        subject: `saga.${sagaId(`at-${failing}-${k}`)}.start`,
        data: new Uint8Array(),
        headers: {},
      });
    const { subjects = {} } = (await own.jsm.streams.info("INBOX", { subjects_filter: ">" })).state;
    for (const subject of Object.keys(subjects)) expect(Number(subject.split(".")[1])).toBeLessThan(count);
    await ports.close();
  }
  expect([...found]).toEqual([2, 6]);
});

test("an existing mesh keeps its partitions, and says so to a host that was told another number", async () => {
  await (await own.opened({ partitions: 3 })).close();
  const said: string[] = [];
  const ports = await own.opened({ partitions: 4, report: (line) => said.push(line) });
  expect(ports.inbox.partitions).toBe(3);
  expect(said.join()).toMatch(/has 3 partitions and keeps them; `sagamesh partitions 4`/);
});
