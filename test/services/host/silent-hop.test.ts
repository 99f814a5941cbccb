/**
 * Goal: an input that was handed on to a host which does not answer may have been taken. So it is let be until its lease
 * ends (RK1), on a memory mesh and on a real server (HN1).
 *
 * Method: a receiver that hears and never says whether it takes; a partition's host that routes to it.
 */
import { expect, test, vi } from "vitest";
import { parseSagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { createRouting, type RoutingDeps } from "../../../services/host/routing.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import type { Clock, Delivery, Ports } from "../../../services/wire/ports.ts";
import { bytes, consumeInbox } from "../../contract/mesh-under-test.ts";
import { openRealMesh, startAccountServer, until } from "../../support/real-mesh.ts";

const wanted = { name: "clerk", version: 2, hash: "abcdef12" };

/** A host that knows of one other, "silent", which serves what is wanted. */
function routingOf(ports: Ports, clock: Clock, outcomes: string[]) {
  const silent = {
    host: "silent",
    partitions: [],
    draining: false,
    since: 0,
    serves: [wanted],
    deployments: 0,
  };
  return createRouting({
    ...{ ports, clock, log: silentLog, waiting: { note: () => undefined }, unmark: async () => undefined },
    observe: { handedOn: (outcome: string) => void outcomes.push(outcome) },
    roster: { hosts: () => [silent], declared: () => ({ revision: 0, names: new Map() }) },
  } as unknown as RoutingDeps);
}

/** The words by which a delivery is settled or kept. */
const wordsOf = (delivery: Delivery) =>
  (["ack", "nak", "working"] as const).map((word) => vi.spyOn(delivery, word));

const put = (ports: Ports) =>
  ports.inbox.publish({ subject: "saga.a.signal.go", data: bytes("{}"), headers: {}, msgId: "go" });

test("what a host does not answer to comes back when its lease ends, and no sooner or later", async () => {
  const { spawn, clock, server } = createMemoryMesh({ seed: 1 });
  const { ports } = spawn("host");
  server.inbox.hops.set("silent", () => undefined);
  const deliveries: (Delivery & { readonly cameAt: number })[] = [];
  const take = (delivery: Delivery) => void deliveries.push(Object.assign(delivery, { cameAt: clock.now() }));
  await clock.until(consumeInbox(ports, take));
  await clock.until(put(ports));
  await clock.run({ until: clock.now() + 100 });
  const [first] = deliveries;
  const words = wordsOf(first!);
  const outcomes: string[] = [];
  await clock.until(routingOf(ports, clock, outcomes).passOn(parseSagaId("a"), wanted, [first!]));
  expect(outcomes).toEqual(["unknown"]);
  await clock.run({ until: clock.now() + 2 * limits.inboxAckWaitMs });
  for (const word of words) expect(word).not.toHaveBeenCalled();
  expect(deliveries[1]).toMatchObject({ seq: first!.seq, deliveries: 2 });
  expect(Math.abs(deliveries[1]!.cameAt - first!.cameAt - limits.inboxAckWaitMs)).toBeLessThan(100);
});

test("so it is on a real server, where a process hangs that listens", async () => {
  const accounts = await startAccountServer(1);
  const { ports, nc, close } = await openRealMesh(accounts.nextUrl());
  try {
    let heard = 0;
    nc.subscribe("hop.silent", { callback: () => void (heard += 1) });
    const deliveries: Delivery[] = [];
    const consuming = await consumeInbox(ports, (delivery) => void deliveries.push(delivery));
    await put(ports);
    await until("it is delivered", () => deliveries.length === 1);
    const words = wordsOf(deliveries[0]!);
    const outcomes: string[] = [];
    await routingOf(ports, systemClock, outcomes).passOn(parseSagaId("a"), wanted, deliveries);
    expect({ heard, outcomes }).toEqual({ heard: 1, outcomes: ["unknown"] });
    await until("it comes back", () => deliveries.length === 2);
    for (const word of words) expect(word).not.toHaveBeenCalled();
    expect(deliveries[1]).toMatchObject({ seq: deliveries[0]!.seq, deliveries: 2 });
    await deliveries[1]!.ack();
    await consuming.stop();
  } finally {
    await close();
    await accounts.stop();
  }
}, 30_000);
