/**
 * Mesh gauges: what the server has of the mesh, read while a scraper asks and at most every few seconds.
 *
 * Every process shows the same numbers: a partition that no host holds must not vanish from the graphs. So they
 * are combined by `max`, not by `sum`.
 */
import type { MeshHealth } from "../../nats/health.ts";
import { withinMs } from "../../nats/within-ms.ts";
import type { Exposition } from "./exposition.ts";

/** Scrapers of several systems, or a person who reloads, cost the server one look. */
const readEveryMs = 5_000;
/** A scrape does not wait longer for a server that is silent; the last numbers would be lies, so there are none. */
const patienceMs = 3_000;

export interface MeshGauges {
  /** Reads the mesh unless it was read just now. Never throws: that the server is silent is one of the numbers. */
  refresh(): Promise<void>;
}

export function createMeshGauges(
  { gauge }: Exposition,
  read: () => Promise<MeshHealth>,
  now: () => number,
): MeshGauges {
  const isRead = gauge("sagamesh_mesh_read", "1 if the server answered the last look at the mesh, else 0.");
  const partition = ["partition"];
  const tool = ["tool"];
  const inbox = {
    waiting: gauge("sagamesh_inbox_waiting", "Inputs stored and not delivered yet.", partition),
    held: gauge("sagamesh_inbox_held", "Inputs delivered and not acked: leases of running sagas.", partition),
    redelivered: gauge("sagamesh_inbox_redelivered", "Un-acked inputs delivered more than once.", partition),
  };
  const work = {
    waiting: gauge("sagamesh_work_waiting", "Calls stored and not delivered yet.", tool),
    held: gauge("sagamesh_work_held", "Calls delivered and not acked.", tool),
    redelivered: gauge("sagamesh_work_redelivered", "Un-acked calls delivered more than once.", tool),
    paused: gauge("sagamesh_work_paused", "1 where the tool is paused.", tool),
  };
  const messages = gauge(
    "sagamesh_stream_messages",
    "Messages of a stream; those of DEAD are dead letters.",
    ["stream"],
  );
  const bytes = gauge("sagamesh_stream_bytes", "Bytes of a stream.", ["stream"]);
  const skew = gauge("sagamesh_clock_offset_seconds", "This machine's clock minus the server's.");
  let readAt = Number.NEGATIVE_INFINITY;

  const show = (health: MeshHealth) => {
    for (const one of health.partitions) {
      inbox.waiting.set([one.name], one.waiting);
      inbox.held.set([one.name], one.held);
      inbox.redelivered.set([one.name], one.redelivered);
    }
    for (const name of new Set(health.tools.map((one) => one.name))) {
      const all = health.tools.filter((one) => one.name === name); // One for each of its contracts.
      const sum = (of: "waiting" | "held" | "redelivered") => all.reduce((total, one) => total + one[of], 0);
      work.waiting.set([name], sum("waiting"));
      work.held.set([name], sum("held"));
      work.redelivered.set([name], sum("redelivered"));
      work.paused.set([name], all.some(({ paused }) => paused) ? 1 : 0);
    }
    for (const one of health.streams) {
      messages.set([one.name], one.messages);
      bytes.set([one.name], one.bytes);
    }
    if (health.clockOffsetMs !== undefined) skew.set([], health.clockOffsetMs / 1_000);
  };

  return {
    refresh: async () => {
      if (now() - readAt < readEveryMs) return;
      readAt = now();
      const health = await withinMs(patienceMs, read());
      for (const one of [...Object.values(inbox), ...Object.values(work), messages, bytes, skew]) one.clear();
      isRead.set([], health === undefined ? 0 : 1);
      if (health !== undefined) show(health);
    },
  };
}
