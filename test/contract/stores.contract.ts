/** ClaimPort, SnapshotPort, BlobPort, DeadPort, RegistryPort and MembershipPort: what is kept by name. */
import { describe, expect, test } from "vitest";
import { isMeshError } from "../../protocol/errors.ts";
import { sha256 } from "../../protocol/digest.ts";
import { subjects } from "../../protocol/subjects.ts";
import type { ClaimPort } from "../../services/wire/ports.ts";
import { bytes, codeOf, type MeshUnderTest, sagaId, text } from "./mesh-under-test.ts";

const key = "hiring-1.3-0.0123456789abcdef";

/** Claims, and asks again as the port's owner does while a rival's claim is being stored. */
const claim = async (claims: ClaimPort, nonce: string): ReturnType<ClaimPort["create"]> => {
  try {
    return await claims.create(key, 1, nonce);
  } catch (error) {
    if (isMeshError(error) && error.retriable) return claim(claims, nonce);
    throw error;
  }
};

export const storesContract = (mesh: () => MeshUnderTest): void => {
  describe("claims", () => {
    test("the first claim wins, the second loses and learns who holds it and since when", async () => {
      const { claims } = mesh().ports;
      const before = await claims.now();
      expect(await claims.create(key, 1, "nonce-a")).toEqual({ won: true });
      const lost = await claims.create(key, 1, "nonce-b");
      expect(lost).toMatchObject({ won: false, holder: "nonce-a" });
      if (lost.won) return;
      expect(lost.claimedAt).toBeGreaterThanOrEqual(before - 50);
      expect(lost.claimedAt).toBeLessThanOrEqual((await claims.now()) + 50);
    });

    test("the same nonce wins again, however often its answer was lost", async () => {
      const { claims } = mesh().ports;
      for (let i = 0; i < 3; i++) expect(await claims.create(key, 1, "nonce-a")).toEqual({ won: true });
    });

    test("another attempt, and another key, is another claim", async () => {
      const { claims } = mesh().ports;
      await claims.create(key, 1, "nonce-a");
      expect(await claims.create(key, 2, "nonce-b")).toEqual({ won: true });
      expect(await claims.create("hiring-2.3-0.0123456789abcdef", 1, "nonce-b")).toEqual({ won: true });
    });

    test("of many claims at once one wins, and all others name it", async () => {
      const { claims } = mesh().ports;
      const nonces = Array.from({ length: 12 }, (_, i) => `nonce-${i}`);
      const outcomes = await Promise.all(nonces.map((nonce) => claim(claims, nonce)));
      const winner = nonces[outcomes.findIndex((outcome) => outcome.won)];
      expect(outcomes.filter((outcome) => outcome.won)).toHaveLength(1);
      for (const outcome of outcomes) if (!outcome.won) expect(outcome.holder).toBe(winner);
    });

    test("those of one saga are listed, with their attempts", async () => {
      const { claims } = mesh().ports;
      await claims.create(key, 1, "nonce-a");
      await claims.create(key, 2, "nonce-a");
      await claims.create("hiring-2.3-0.0123456789abcdef", 1, "nonce-b");
      expect((await claims.list(sagaId("hiring-1"))).sort()).toEqual([`${key}.1`, `${key}.2`]);
      expect(await claims.list(sagaId("hiring"))).toEqual([]);
    });

    test("whoever has any is told, and those of one saga are dropped together; then they can be won again", async () => {
      const { claims } = mesh().ports;
      const sagas = async () => [...(await claims.sagas())].sort();
      expect(await sagas()).toEqual([]);
      const other = "hiring-10.3-0.0123456789abcdef";
      for (const [of, attempt] of [
        [key, 1],
        [key, 2],
        [other, 1],
      ] as const)
        expect(await claims.create(of, attempt, "nonce-a")).toEqual({ won: true });
      expect(await sagas()).toEqual(["hiring-1", "hiring-10"]);
      await claims.drop(sagaId("hiring-1"));
      await claims.drop(sagaId("hiring-1"));
      expect(await claims.list(sagaId("hiring-1"))).toEqual([]);
      expect(await sagas()).toEqual(["hiring-10"]);
      expect(await claims.create(key, 1, "nonce-b")).toEqual({ won: true });
      expect(await claims.create(other, 1, "nonce-b")).toMatchObject({ won: false, holder: "nonce-a" });
    });

    test("the server's time goes forward", async () => {
      const { ports, wait } = mesh();
      const before = await ports.claims.now();
      await wait(100);
      const passed = (await ports.claims.now()) - before;
      expect(passed).toBeGreaterThanOrEqual(90);
      expect(passed).toBeLessThan(2_000);
    });
  });

  describe("snapshots", () => {
    test("the snapshot put last is the one that is got", async () => {
      const { snapshots } = mesh().ports;
      expect(await snapshots.get(sagaId("a"))).toBeUndefined();
      await snapshots.put(sagaId("a"), bytes("one"));
      await snapshots.put(sagaId("a"), bytes("two"));
      await snapshots.put(sagaId("b"), bytes("other"));
      expect(text((await snapshots.get(sagaId("a")))!)).toBe("two");
    });

    test("what stands beside a snapshot has names of its own, and each saga's", async () => {
      const { snapshots } = mesh().ports;
      await snapshots.put(sagaId("a"), bytes("one"));
      await snapshots.put(sagaId("a"), bytes("part"), "past-1");
      await snapshots.put(sagaId("a"), bytes("piece"), "past-1-piece-0");
      expect(text((await snapshots.get(sagaId("a")))!)).toBe("one");
      expect(text((await snapshots.get(sagaId("a"), "past-1"))!)).toBe("part");
      expect(text((await snapshots.get(sagaId("a"), "past-1-piece-0"))!)).toBe("piece");
      expect(await snapshots.get(sagaId("b"), "past-1")).toBeUndefined();
    });

    test("a dropped snapshot is gone with all that stands beside it, and nobody else's", async () => {
      const { snapshots } = mesh().ports;
      for (const name of [undefined, "past-1", "past-1-piece-0"])
        for (const saga of ["a", "a-b"]) await snapshots.put(sagaId(saga), bytes(saga), name);
      expect([...(await snapshots.sagas())].sort()).toEqual(["a", "a-b"]);
      await snapshots.drop(sagaId("a"));
      await snapshots.drop(sagaId("a"));
      expect([...(await snapshots.sagas())]).toEqual(["a-b"]);
      for (const name of [undefined, "past-1", "past-1-piece-0"]) {
        expect(await snapshots.get(sagaId("a"), name)).toBeUndefined();
        expect(text((await snapshots.get(sagaId("a-b"), name))!)).toBe("a-b");
      }
      await snapshots.put(sagaId("a"), bytes("anew"));
      expect(text((await snapshots.get(sagaId("a")))!)).toBe("anew");
    });

    test("a snapshot over the limit of a message is refused", async () => {
      expect(await codeOf(mesh().ports.snapshots.put(sagaId("a"), new Uint8Array(2 * 1024 * 1024)))).toBe(
        "TOO_LARGE",
      );
    });
  });

  describe("blobs", () => {
    const large = Buffer.from(Array.from({ length: 5 * 1024 * 1024 }, (_, i) => (i * 31) % 251));

    test("five megabytes come back as they were put", async () => {
      const { blobs } = mesh().ports;
      await blobs.put(sha256(large), large);
      const got = await blobs.get(sha256(large));
      expect(got.length).toBe(large.length);
      expect(sha256(got)).toBe(sha256(large));
    });

    test("the same blob may be put again, also at the same time", async () => {
      const { blobs } = mesh().ports;
      const data = large.subarray(0, 700_000);
      await Promise.all([1, 2, 3].map(() => blobs.put(sha256(data), data)));
      await blobs.put(sha256(data), data);
      expect(sha256(await blobs.get(sha256(data)))).toBe(sha256(data));
    });

    test("a blob without bytes is one", async () => {
      const { blobs } = mesh().ports;
      await blobs.put(sha256(""), new Uint8Array());
      expect(await blobs.get(sha256(""))).toHaveLength(0);
    });

    test("a blob that was never put is a broken ledger's", async () => {
      expect(await codeOf(mesh().ports.blobs.get(sha256("nothing")))).toBe("LEDGER_BROKEN");
    });
  });

  describe("dead letters", () => {
    test("they are listed in order with subject, headers and body, and once for one Msg-Id", async () => {
      const { dead } = mesh().ports;
      expect(await dead.list()).toEqual([]);
      for (const id of ["7", "8", "8"])
        await dead.publish({
          subject: subjects.dead("inbox", id),
          data: bytes(id),
          headers: { "Saga-Reason": "BAD_ID" },
          msgId: `dead:${id}`,
        });
      await dead.publish({
        subject: subjects.dead("work", "9"),
        data: bytes("9"),
        headers: {},
        msgId: "dead:9",
      });
      const list = await dead.list();
      expect(list.map((letter) => [letter.subject, text(letter.data)])).toEqual([
        ["dead.inbox.7", "7"],
        ["dead.inbox.8", "8"],
        ["dead.work.9", "9"],
      ]);
      expect(list[0]!.headers).toMatchObject({ "Saga-Reason": "BAD_ID" });
    });

    test("one is read by its number until it is taken away, and the others stay", async () => {
      const { dead } = mesh().ports;
      for (const id of ["7", "8", "9"])
        await dead.publish({
          subject: subjects.dead("inbox", id),
          data: bytes(id),
          headers: {},
          msgId: `dead:${id}`,
        });
      const { seq } = (await dead.list())[1]!;
      expect(text((await dead.get(seq))!.data)).toBe("8");
      await dead.remove(seq);
      await dead.remove(seq);
      expect(await dead.get(seq)).toBeUndefined();
      expect((await dead.list()).map((letter) => text(letter.data))).toEqual(["7", "9"]);
    });
  });

  describe("registry", () => {
    test("a document is listed once, however often it was put", async () => {
      const { registry } = mesh().ports;
      expect(await registry.list()).toEqual([]);
      for (const name of ["tool/search/aa", "agent/hiring/bb", "tool/search/aa"])
        await registry.put(name, bytes(name));
      const list = await registry.list();
      expect(list.map((entry) => entry.key).sort()).toEqual(["agent/hiring/bb", "tool/search/aa"]);
      expect(text(list.find((entry) => entry.key === "tool/search/aa")!.data)).toBe("tool/search/aa");
    });

    test("a document that changes is written by one of two who read the same revision", async () => {
      const { registry } = mesh().ports;
      await registry.put("tool/search/aa", bytes("beside it"));
      expect(await registry.read("deployments")).toBeUndefined();
      const first = await registry.write("deployments", bytes("one"), 0);
      expect(await codeOf(registry.write("deployments", bytes("two"), 0))).toBe("WRONG_SEQUENCE");
      expect(await registry.read("deployments").then((read) => [text(read!.data), read!.revision])).toEqual([
        "one",
        first,
      ]);
      const second = await registry.write("deployments", bytes("two"), first);
      expect(second).toBeGreaterThan(first);
      expect(await codeOf(registry.write("deployments", bytes("three"), first))).toBe("WRONG_SEQUENCE");
      expect(text((await registry.read("deployments"))!.data)).toBe("two");
      expect((await registry.list()).map((entry) => [entry.key, text(entry.data)]).sort()).toEqual([
        ["deployments", "two"],
        ["tool/search/aa", "beside it"],
      ]);
    });
  });

  describe("membership", () => {
    const names = async () => (await mesh().ports.membership.hosts()).map((entry) => entry.host).sort();

    test("a host that beats is listed with what it says last", async () => {
      const { membership } = mesh().ports;
      await membership.beat("host-a", bytes("one"), 5_000);
      await membership.beat("host-a", bytes("two"), 5_000);
      await membership.beat("host-b", bytes("three"), 5_000);
      expect(await names()).toEqual(["host-a", "host-b"]);
      const [entry] = (await membership.hosts()).filter(({ host }) => host === "host-a");
      expect(text(entry!.data)).toBe("two");
    });

    test("a host that stops beating vanishes, and one that goes on does not", async () => {
      const { ports, wait, until } = mesh();
      await ports.membership.beat("host-a", bytes(""), 1_000);
      for (let beat = 0; beat < 4; beat++) {
        await ports.membership.beat("host-b", bytes(String(beat)), 1_000);
        await wait(500);
      }
      await ports.membership.beat("host-b", bytes("last"), 1_000);
      expect(await names()).toEqual(["host-b"]);
      await until("the other vanishes too", async () => (await names()).length === 0);
    });

    test("who follows hears every beat and every departure from the call on, in their order", async () => {
      const { ports, until } = mesh();
      const { membership } = ports;
      await membership.beat("host-a", bytes("unheard"), 5_000);
      const ended = new AbortController();
      const heard: string[] = [];
      const following = (async () => {
        for await (const { host, data } of membership.follow(ended.signal))
          heard.push(`${host} ${data === undefined ? "leaves" : text(data)}`);
      })();
      await membership.beat("host-b", bytes("one"), 5_000);
      await membership.beat("host-a", bytes("two"), 5_000);
      await membership.leave("host-b");
      await until("all is heard", () => heard.length >= 3);
      expect(heard).toEqual(["host-b one", "host-a two", "host-b leaves"]);
      ended.abort();
      await following;
    });

    test("a host that leaves is gone at once", async () => {
      const { membership } = mesh().ports;
      await membership.beat("host-a", bytes(""), 5_000);
      await membership.leave("host-a");
      await membership.leave("nobody");
      expect(await names()).toEqual([]);
    });

    test("an entry is taken away in its host's place only as it was read", async () => {
      const { membership } = mesh().ports;
      await membership.beat("host-a", bytes("one"), 5_000);
      const [read] = await membership.hosts();
      await membership.beat("host-a", bytes("two"), 5_000);
      expect(await membership.remove("host-a", read!.revision)).toBe(false);
      const [newer] = await membership.hosts();
      expect(text(newer!.data)).toBe("two");
      expect(await membership.remove("host-a", newer!.revision)).toBe(true);
      expect(await membership.remove("host-a", newer!.revision)).toBe(false);
      expect(await names()).toEqual([]);
    });

    test("a host is heard from when it listens until it stops", async () => {
      const { membership, inbox } = mesh().ports;
      expect(membership.server()).not.toBe(undefined);
      expect(await membership.isUnheard("host-a")).toBe(true);
      const receiving = await inbox.receive("host-a", () => {
        throw new Error("nothing is handed on");
      });
      expect(await membership.isUnheard("host-a")).toBe(false);
      await receiving.stop();
      expect(await membership.isUnheard("host-a")).toBe(true);
    });
  });
};
