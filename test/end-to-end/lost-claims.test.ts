/**
 * Goal: with the claims deleted and the worker killed in the middle of sixteen `once` and sixteen `probe` effects, none is
 * performed a second time, whatever an operator does next.
 * Method: the victim is a process that begins all of them and ends none. The outside is a file. An operator starts workers
 * and hosts in every order, makes the bucket by hand, rebuilds twice; another worker runs all the time.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig } from "../../services/runtime/config.ts";
import { rebuildClaims } from "../../services/runtime/rebuild.ts";
import { codeOf } from "../contract/mesh-under-test.ts";
import app, { doneIn, perKind, till } from "../apps/till.ts";
import { codes, doctor, saying } from "../support/doctor.ts";
import { ownOfFile } from "../support/own-file.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";
import { spawnProcess } from "../support/spawn-process.ts";

const own = ownOfFile("claims", 4);

const total = 2 * perKind;

interface Loss {
  readonly mesh: RealMesh;
  readonly done: () => string[];
  readonly rebuild: (isDryRun: boolean) => ReturnType<typeof rebuildClaims>;
  readonly claims: () => Promise<unknown>;
}

/** A mesh with a host, the effects begun, their worker dead and the claims deleted. */
async function withLoss(
  name: string,
  before: (mesh: RealMesh) => Promise<void>,
  work: (loss: Loss) => Promise<void>,
) {
  const world = join(own.folder, name);
  await writeFile(world, "");
  process.env["TILL_WORLD"] = world;
  const mesh = await openRealMesh(own.server.nextUrl());
  try {
    await mesh.host(app);
    await mesh.client.start(till, {}, { id: "till" });
    const victim = spawnProcess("till-process", { MESH_URL: mesh.url, TILL_WORLD: world, TILL_HANGS: "1" });
    await until("all effects have begun", () => doneIn(world).length === total, 30_000);
    await before(mesh);
    const jsm = await jetstreamManager(mesh.nc);
    const { config } = await jsm.streams.info("KV_CLAIM");
    victim.kill();
    await victim.ended;
    await jsm.streams.delete("KV_CLAIM");
    const options = { skipsUnreadable: false, report: () => undefined, signal: new AbortController().signal };
    await work({
      mesh,
      done: () => doneIn(world),
      rebuild: (isDryRun) => rebuildClaims(readConfig({ server: mesh.url }), { ...options, isDryRun }),
      claims: async () => jsm.streams.add({ ...config, metadata: {} }),
    });
  } finally {
    await mesh.close();
    delete process.env["TILL_WORLD"];
  }
}

/** Each `once` is in doubt and a person is asked; each `probe` has what the outside said; the outside has each once. */
async function expectNothingTwice({ mesh, done }: Loss) {
  const settled = async () => {
    const { intents } = await mesh.view("till");
    const of = (tool: string, outcome: string) =>
      intents.filter(
        ({ intent, outcome: ended }) => intent.kind === "tool" && intent.name === tool && ended === outcome,
      );
    return { doubts: of("charge", "in_doubt").length, found: of("ship", "succeeded").length };
  };
  await until(
    "every effect is told of",
    async () => {
      const { doubts, found } = await settled();
      return doubts + found === total;
    },
    40_000,
  );
  expect(await settled()).toEqual({ doubts: perKind, found: perKind });
  expect(done()).toHaveLength(total);
  expect(new Set(done()).size).toBe(total);
  const tasks = await mesh.client.tasks();
  expect(tasks.filter(({ about }) => about === "doubt")).toHaveLength(perKind);
}

test(
  "nothing starts beside lost claims; rebuilt, nothing is performed twice",
  () =>
    withLoss(
      "first",
      async () => undefined,
      async (loss) => {
        const { mesh, rebuild, done } = loss;
        const found = await doctor(mesh.url);
        expect(saying(found, "MESH_INCOMPLETE")).toContain("stream KV_CLAIM is not there");
        expect(found.findings.find(({ code }) => code === "MESH_INCOMPLETE")?.remedy).toContain(
          "rebuild claims",
        );
        expect(await codeOf(mesh.worker(app))).toBe("MESH_INCOMPLETE");
        expect(await codeOf(mesh.host(app))).toBe("MESH_INCOMPLETE");
        const due = await rebuild(true);
        expect(due).toMatchObject({ outcome: "due", sagas: 1 });
        expect(due.calls).toHaveLength(total);
        expect(await codeOf(mesh.worker(app))).toBe("MESH_INCOMPLETE");
        expect(await rebuild(false)).toMatchObject({ outcome: "rebuilt" });
        expect(await rebuild(false)).toEqual({ what: "claims", outcome: "whole" });
        await mesh.worker(app);
        await expectNothingTwice(loss);
        expect(codes(await doctor(mesh.url))).not.toContain("MESH_INCOMPLETE");
        expect(done()).toHaveLength(total);
      },
    ),
  120_000,
);

test(
  "a worker that runs all the time waits, also beside a bucket that was made by hand, and goes on when they are rebuilt",
  () =>
    withLoss(
      "second",
      async (mesh) => {
        await mesh.worker(app);
      },
      async (loss) => {
        const { mesh, rebuild, claims, done } = loss;
        await claims();
        expect(await codeOf(mesh.worker(app))).toBe("MESH_INCOMPLETE");
        // It has the dead worker's calls, and what it asked for was stored.
        const { streams } = await jetstreamManager(mesh.nc);
        const asked = async () => (await streams.info("KV_CLAIM")).state.messages;
        await until("the living worker asks for claims", async () => (await asked()) > 0, 30_000);
        expect(done()).toHaveLength(total);
        expect(await rebuild(false)).toMatchObject({ outcome: "rebuilt" });
        await expectNothingTwice(loss);
      },
    ),
  120_000,
);
