/**
 * Doctor on a cluster of three servers that loses one, and then another.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import { afterEach, expect, test } from "vitest";
import { connectNats } from "../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import { startTestCluster } from "../../support/cluster.ts";
import { codes, doctor, lookUntil, saying } from "../../support/doctor.ts";

const ends: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

test("of three servers, one that is away and a stream with fewer copies are found; without two, what is silent", async () => {
  const cluster = await startTestCluster();
  ends.push(() => cluster.stop());
  const nc = await connectNats({ servers: cluster.url.split(","), name: "test" });
  ends.push(() => nc.close());
  const ports = await openNatsPorts(nc, { replicas: 3 });
  ends.push(() => ports.close());
  const whole = await doctor(cluster.url);
  expect(codes(whole)).toEqual(["NO_HOST"]);
  expect(whole.durability.join("\n")).toContain("3 copies: a turn survives the loss of one server");
  expect(whole.streams.every((one) => one.peers.length === 2)).toBe(true);

  await (await jetstreamManager(nc)).streams.update("KV_SNAPSHOT", { num_replicas: 1 });
  expect(codes(await doctor(cluster.url), "warning")).toContain("REPLICAS_DIFFER");

  const [first, second] = cluster.servers;
  first?.signal("SIGKILL");
  const degraded = await lookUntil(cluster.url, (one) => codes(one).includes("STREAM_DEGRADED"));
  expect(saying(degraded, "STREAM_DEGRADED")).toContain(first?.name);
  second?.signal("SIGKILL");
  const silent = await lookUntil(cluster.url, (one) => !codes(one).includes("STREAM_DEGRADED"));
  expect(silent.ok).toBe(false);
  expect(silent.server?.version).toMatch(/^2\./);
}, 120_000);
